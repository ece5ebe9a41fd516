# SPDX-License-Identifier: Apache-2.0
"""What `ArmMonitor` says of one sample, and of many."""

from __future__ import annotations

from typing import NamedTuple

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation.contact import Contact
from panda_dynamics_ros.estimation.estimate import PayloadEstimate
from panda_dynamics_ros.estimation.wrench import ContactWrench


class DynamicsOutput(NamedTuple):
    """What the arm's model says about one sample.

    Attributes
    ----------
    stamp: s.
    gravity_torques, coriolis_torques: (n,), N m.
    T_base_ee: (4, 4).
    external_torques: (n,), N m, of the momentum observer; torques of the known payload are not among them.
    wrench: at the flange, that explains the external torques.
    contact: the last contact, which may still last; None before the first one.
    contact_changed: whether a contact began, ended or moved to another link with this sample.
    """

    stamp: float
    gravity_torques: FloatArray
    coriolis_torques: FloatArray
    T_base_ee: FloatArray
    external_torques: FloatArray
    wrench: ContactWrench
    contact: Contact | None
    contact_changed: bool


class PayloadOutput(NamedTuple):
    """What is known of the payload after one sample.

    Attributes
    ----------
    estimate: the payload.
    is_due: whether this estimate is one of those that the node publishes (see `PublicationSchedule`).
    residual: (n,), N m, the filtered torque that neither the arm's model nor the payload explains; nan while the
        filters settle.
    """

    estimate: PayloadEstimate
    is_due: bool
    residual: FloatArray


class ArmOutput(NamedTuple):
    """All that the nodes publish after one sample: the fields of `DynamicsOutput` and `PayloadOutput`."""

    stamp: float
    gravity_torques: FloatArray
    coriolis_torques: FloatArray
    T_base_ee: FloatArray
    external_torques: FloatArray
    wrench: ContactWrench
    contact: Contact | None
    contact_changed: bool
    estimate: PayloadEstimate
    is_due: bool
    residual: FloatArray


class ArmRows(NamedTuple):
    """What `ArmMonitor` says of N samples.

    Attributes
    ----------
    external_torques, residual: (N, n), as those of `ArmOutput`.
    estimates: each new estimate, with the index of the sample after which it holds, and whether it is due.
    contacts: each change of the contact, with the index of its sample.
    """

    external_torques: FloatArray
    residual: FloatArray
    estimates: list[tuple[int, PayloadEstimate, bool]]
    contacts: list[tuple[int, Contact]]
