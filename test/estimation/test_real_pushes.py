# SPDX-License-Identifier: Apache-2.0
"""A standing Panda with a force sensor at the flange: pushes of a finger, and an object that is put on it."""

import numpy as np
import pytest
from conftest import public_log

from panda_dynamics_ros.estimation import ArmMonitor

PUSHED = ["793c8b5_data_PF_1", "793c8b5_data_PF_3", "8156ae8_data_pf_2", "8156ae8_data_raw_1"]
"""Those in which a push begins after a second of quiet."""
NOTICED, QUIET, PUSH = 0.15, 2.0, 4.0  # s after, and N below which for 1 s before, a push begins at ..


def monitored(panda, name):
    """Stamps of events and begins of contacts, kinds of the events, and stamp and size of the sensor's force."""
    log = np.genfromtxt(public_log(f"panda_wrist_ft/{name}.csv"), delimiter=",", names=True)
    columns = {field: np.column_stack([log[f"{field}{k}"] for k in range(1, 8)]) for field in ("q", "dq", "tau_ext")}
    tau = panda.gravity_torques(columns["q"]) + columns["tau_ext"]
    found = ArmMonitor(panda).update_rows(log["t"], columns["q"], columns["dq"], tau)
    events = [estimate.event for _, estimate, _ in found.estimates if estimate.event]
    contacts = {contact.start for _, contact in found.contacts}
    force = np.linalg.norm(np.column_stack([log[name] for name in ("fx", "fy", "fz")]), axis=1)
    return sorted({*contacts, *(event.stamp for event in events)}), events, log["t"], force


def begins(stamp, force, least):
    """When the force first exceeds `least` after a second of quiet."""
    above = np.flatnonzero((force[1:] > least) & (force[:-1] <= least)) + 1
    return [
        stamp[k] for k in above
        if stamp[k] - stamp[0] > 1.5
        and force[(stamp > stamp[k] - 2.0) & (stamp <= stamp[k] - 0.8)].max(initial=0.0) < QUIET
    ]  # fmt: skip


@pytest.mark.parametrize("name", PUSHED)
def test_pushes_are_noticed(panda, name):
    """Within 0.15 s after 4 N; it may be before, while the force rises."""
    noticed, events, stamp, force = monitored(panda, name)
    starts = begins(stamp, force, PUSH)
    assert starts
    for begin in starts:
        assert any(begin - 0.8 < each <= begin + NOTICED for each in noticed), begin
    assert "pick" not in {event.kind for event in events}


@pytest.mark.parametrize("number", range(1, 6))
def test_objects_are_noticed(panda, number):
    """0.308 kg, put on by hand within half a second or so; the arm does not move, so that it stays a load."""
    noticed, events, stamp, force = monitored(panda, f"data_pos_{number}")
    starts = begins(stamp, force, 2.5)
    assert starts
    assert sum(any(start - 0.8 < each <= start + 1.0 for each in noticed) for start in starts) == len(starts)
    assert "pick" not in {event.kind for event in events}
