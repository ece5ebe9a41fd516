# SPDX-License-Identifier: Apache-2.0
"""The names that users rely on, and the five lines of the README."""

from pathlib import Path

import numpy as np
import pytest

import panda_dynamics_ros as pdr

README = Path(__file__).resolve().parents[1] / "README.md"

ROBOT = (
    "n", "joint_names", "links", "pose", "jacobian", "com_jacobian", "gravity_torques", "coriolis_torques",
    "coriolis_matrix", "mass_matrix", "inverse_dynamics", "forward_dynamics", "friction_torques", "regressor",
    "payload_regressor", "inertial_vector", "with_payload", "base_parameters",
)  # fmt: skip
BODY = ("mass", "com", "inertia", "vector", "from_vector", "is_physical", "transformed", "__add__")
POSE = (
    "to_column_major", "from_column_major", "matrix_to_quaternion", "quaternion_to_matrix",
    "matrix_to_measure_pose", "measure_pose_to_matrix",
)  # fmt: skip
PACKAGE = (
    "ArmMonitor", "ContactDetector", "MomentumObserver", "PandaDynamicsError", "PayloadEstimator", "Shape", "identify",
    "identify_gravity", "load_dataset", "load_robot", "pose", "replay", "write_robot",
)  # fmt: skip
ESTIMATE = ("mass", "com", "inertia", "covariance", "std", "identifiable", "status")


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        (pdr.load_robot("panda"), ROBOT),
        (pdr.InertialParameters.zero(), BODY),
        (pdr.pose, POSE),
        (pdr.PayloadEstimator(pdr.load_robot("panda")), ("update", "reset", "tare")),
        (pdr.PayloadEstimator(pdr.load_robot("panda")).estimate, ESTIMATE),
        (pdr, pdr.__all__),
        (pdr, PACKAGE),
    ],
    ids=["robot", "body", "pose", "estimator", "estimate", "exported", "package"],
)
def test_public_names_are_there(owner, names):
    assert [name for name in names if not hasattr(owner, name)] == []


def test_the_exported_names_are_sorted():
    assert sorted(pdr.__all__) == pdr.__all__
    assert set(PACKAGE) <= set(pdr.__all__)


def test_the_library_section_of_the_readme_runs(panda):
    """The code block is executed as printed, with a state of the arm for the names it leaves to the reader."""
    block = README.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    q, dq, ddq = np.linspace(-0.5, 0.5, 7), np.full(7, 0.1), np.zeros(7)
    q[3] = -2.0
    names = {"q": q, "dq": dq, "ddq": ddq, "stamp": 0.0, "tau_measured": panda.gravity_torques(q)}
    exec(block, names)
    np.testing.assert_array_equal(names["tau"], panda.inverse_dynamics(q, dq, ddq) + panda.friction_torques(dq))
    assert names["estimate"].status == "filters settling"
