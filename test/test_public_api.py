# SPDX-License-Identifier: Apache-2.0
"""The names that users rely on."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import panda_dynamics_ros as pdr
from panda_dynamics_ros import errors

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
    "ArmMonitor", "PandaDynamicsError", "PayloadEstimator", "Shape", "identify",
    "load_dataset", "load_robot", "pose", "replay", "weigh_paired_runs", "write_robot",
)  # fmt: skip
BUILT_IN = {
    **dict.fromkeys(("ArgumentError", "RobotDescriptionError", "DataError", "SampleError"), ValueError),
    "DataFileNotFoundError": FileNotFoundError,
    "MissingDependencyError": ImportError,
    "ConnectionFailedError": ConnectionError,
}
ESTIMATE = ("mass", "com", "inertia", "covariance", "std", "identifiable", "status")


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        (pdr.load_robot("panda"), ROBOT),
        (pdr.InertialParameters.zero(), BODY),
        (pdr.pose, POSE),
        (pdr.PayloadEstimator(pdr.load_robot("panda")), ("update", "reset", "tare")),
        (pdr.PayloadEstimator(pdr.load_robot("panda")).estimate, ESTIMATE),
        (pdr, PACKAGE),
    ],
    ids=["robot", "body", "pose", "estimator", "estimate", "package"],
)
def test_public_names_are_there(owner, names):
    assert [name for name in names if not hasattr(owner, name)] == []


def test_editors_see_the_names_that_are_exported_where_they_come_from():
    stub = ast.parse(Path(pdr.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {alias.name: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert sorted(homes) == pdr.__all__
    assert homes.keys() >= set(PACKAGE)
    for name, home in homes.items():
        assert getattr(import_module(str(home)), name) is getattr(pdr, name)


def test_an_error_is_caught_by_its_root_and_by_one_built_in():
    """`except ValueError` must not swallow a missing file."""
    defined = {name: value for name, value in vars(errors).items() if isinstance(value, type)}
    assert defined.keys() == {*BUILT_IN, "PandaDynamicsError"}
    assert pdr.PandaDynamicsError.__bases__ == (Exception,)
    for name, built_in in BUILT_IN.items():
        assert issubclass(defined[name], pdr.PandaDynamicsError)
        assert [kind for kind in {*BUILT_IN.values()} if issubclass(defined[name], kind)] == [built_in]
