# SPDX-License-Identifier: Apache-2.0
"""The names that users rely on."""

import pytest

import panda_dynamics_ros as pdr

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
    "load_dataset", "load_robot", "pose", "replay", "weigh_paired_runs", "write_robot",
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
