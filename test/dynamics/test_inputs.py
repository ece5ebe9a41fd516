# SPDX-License-Identifier: Apache-2.0
"""What the functions take: leading dimensions, number types, memory layouts. And what they refuse, and how."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from arms import random_states
from conftest import message_of

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError, RobotDescriptionError

# Name: (function of the robot and its joint arrays, the arrays' names, shape of one result).
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[str, ...], tuple[int, ...]]] = {
    "pose": (pdr.RobotModel.pose, ("q",), (4, 4)),
    "jacobian": (pdr.RobotModel.jacobian, ("q",), (6, 7)),
    "com_jacobian": (lambda robot, q: robot.com_jacobian(q, 3), ("q",), (6, 7)),
    "gravity_torques": (pdr.RobotModel.gravity_torques, ("q",), (7,)),
    "coriolis_torques": (pdr.RobotModel.coriolis_torques, ("q", "dq"), (7,)),
    "coriolis_matrix": (pdr.RobotModel.coriolis_matrix, ("q", "dq"), (7, 7)),
    "mass_matrix": (pdr.RobotModel.mass_matrix, ("q",), (7, 7)),
    "inverse_dynamics": (pdr.RobotModel.inverse_dynamics, ("q", "dq", "ddq"), (7,)),
    "forward_dynamics": (pdr.RobotModel.forward_dynamics, ("q", "dq", "tau"), (7,)),
    "friction_torques": (pdr.RobotModel.friction_torques, ("dq",), (7,)),
    "regressor": (pdr.RobotModel.regressor, ("q", "dq", "ddq"), (7, 70)),
    "payload_regressor": (pdr.RobotModel.payload_regressor, ("q", "dq", "ddq"), (7, 10)),
}
ARGUMENTS = [(function, name) for function, (_, names, _) in FUNCTIONS.items() for name in names]
OF_SEVERAL = [function for function, (_, names, _) in FUNCTIONS.items() if len(names) > 1]


def call(function: str, robot: pdr.RobotModel, *arrays: Any) -> np.ndarray:
    return np.asarray(FUNCTIONS[function][0](robot, *arrays))


def states_for(function: str, robot: pdr.RobotModel, rng: np.random.Generator, samples: int = 5) -> list[np.ndarray]:
    """Random joint arrays, one for each that the function takes."""
    return list(random_states(robot, rng, samples))[: len(FUNCTIONS[function][1])]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_leading_dimensions_are_those_of_the_states(function, panda, rng):
    shape = FUNCTIONS[function][2]
    rows = states_for(function, panda, rng, samples=6)
    result = call(function, panda, *rows)
    assert result.shape == (6, *shape)
    assert result.dtype == np.float64
    grid = call(function, panda, *(x.reshape(2, 3, 7) for x in rows))
    assert np.array_equal(grid, result.reshape(2, 3, *shape))
    for k, row in enumerate(zip(*rows, strict=True)):
        assert np.array_equal(call(function, panda, *row), result[k])


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("empty", [(0, 7), (3, 0, 7)])
def test_no_states_give_no_results(function, empty, panda):
    arrays = [np.zeros(empty)] * len(FUNCTIONS[function][1])
    assert call(function, panda, *arrays).shape == (*empty[:-1], *FUNCTIONS[function][2])


@pytest.mark.parametrize("function", OF_SEVERAL)
@pytest.mark.parametrize(
    ("first", "others"), [((1, 7), (5, 7)), ((7,), (5, 7)), ((3, 1, 7), (4, 7)), ((5, 7), (7,)), ((0, 7), (1, 7))]
)
def test_leading_dimensions_broadcast(function, first, others, panda, rng):
    arrays = [rng.normal(size=shape) for shape in [first] + [others] * (len(FUNCTIONS[function][1]) - 1)]
    full = [np.array(x) for x in np.broadcast_arrays(*arrays)]
    assert np.array_equal(call(function, panda, *arrays), call(function, panda, *full))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", ["lists", "tuples", "int64", "int8", "float32", "big-endian"])
def test_any_real_numbers_will_do(function, kind, panda):
    whole = np.array([1, -1, 2, -2, 0, 3, 1])  # the same number in every type
    given: Any = whole.tolist() if kind == "lists" else tuple(whole) if kind == "tuples" else None
    if given is None:
        given = whole.astype({"big-endian": ">f8"}.get(kind, kind))
    count = len(FUNCTIONS[function][1])
    want = call(function, panda, *[whole.astype(float)] * count)
    assert np.array_equal(call(function, panda, *[given] * count), want)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("layout", ["read-only", "strided", "reversed", "Fortran", "unaligned"])
def test_any_memory_layout_will_do(function, layout, panda, rng):
    plain = states_for(function, panda, rng)
    laid_out = [LAYOUTS[layout](x) for x in plain]
    for x, same in zip(plain, laid_out, strict=True):
        assert np.array_equal(x, same), "the test's own copy is wrong"
        assert not (same.flags.c_contiguous and same.flags.behaved), "the test's own array is laid out plainly"
    assert np.array_equal(call(function, panda, *laid_out), call(function, panda, *plain))


def unaligned(x: np.ndarray) -> np.ndarray:
    packed = np.zeros(x.shape, dtype=np.dtype([("pad", "u1"), ("x", "f8")]))
    packed["x"] = x
    return packed["x"]


def read_only(x: np.ndarray) -> np.ndarray:
    copy = x.copy()
    copy.setflags(write=False)
    return copy


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "read-only": read_only,
    "strided": lambda x: np.repeat(x, 3, axis=1)[:, ::3],
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "Fortran": np.asfortranarray,
    "unaligned": unaligned,
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_arguments_stay_as_they_are(function, panda, rng):
    given = states_for(function, panda, rng)
    before = [x.copy() for x in given]
    result = call(function, panda, *given)
    assert all(np.array_equal(a, b) for a, b in zip(given, before, strict=True))
    assert not any(np.shares_memory(result, x) for x in given)


def test_zero_velocity_gives_no_coriolis_torque(robot, rng):
    q = random_states(robot, rng).q
    assert not robot.coriolis_torques(q, np.zeros(7)).any()
    assert not robot.coriolis_matrix(q, np.zeros(7)).any()


NOT_ARRAYS: dict[str, tuple[Any, str]] = {
    "too short": (np.zeros(6), "expected shape (..., 7), got (6,)"),
    "NaN": ([0, 0, np.nan, 0, 0, 0, 0], "expected finite numbers, got nan at index (2,)"),
    "infinity": ([[0.0] * 7, [0, 0, 0, 0, 0, -np.inf, 0]], "expected finite numbers, got -inf at index (1, 5)"),
    "string": ("zero", "expected an array of real numbers, got 'zero'"),
}


@pytest.mark.parametrize(("function", "argument"), ARGUMENTS)
@pytest.mark.parametrize("wrong", NOT_ARRAYS)
def test_a_wrong_joint_array_is_named(function, argument, wrong, panda):
    value, message = NOT_ARRAYS[wrong]
    arrays = [value if name == argument else np.zeros(7) for name in FUNCTIONS[function][1]]
    assert message_of(ArgumentError, call, function, panda, *arrays).startswith(f"{argument}: {message}")


@pytest.mark.parametrize("function", OF_SEVERAL)
def test_leading_dimensions_that_do_not_broadcast_are_named(function, panda):
    names = FUNCTIONS[function][1]
    arrays = [np.zeros((3, 7))] + [np.zeros((4, 7))] * (len(names) - 1)
    got = ", ".join(f"{name} {array.shape}" for name, array in zip(names, arrays, strict=True))
    message = f"{', '.join(names)}: expected leading shapes that broadcast, got {got}"
    assert message_of(ArgumentError, call, function, panda, *arrays) == message


@pytest.mark.parametrize("frame", ["gripper", "joint0", "joint8", "Flange", "", None, 7, ["flange"], np.array(["ee"])])
@pytest.mark.parametrize("function", ["pose", "jacobian"])
def test_an_unknown_frame_is_answered_with_those_there_are(function, frame, panda):
    known = "base, joint1, joint2, joint3, joint4, joint5, joint6, joint7, flange, ee"
    message = message_of(ArgumentError, getattr(panda, function), np.zeros(7), frame)
    assert message == f"frame: expected one of {known}, got {frame!r}"


@pytest.mark.parametrize("frame", ["base", "joint6", "gripper", None, np.array(["ee", "flange"])])
def test_a_payload_goes_on_the_last_link_only(frame, panda):
    message = f"frame: expected one in the last link (joint7, flange, ee), got {frame!r}"
    assert message_of(ArgumentError, panda.payload_regressor, *np.zeros((3, 7)), frame) == message
    assert message_of(ArgumentError, panda.with_payload, pdr.InertialParameters.zero(), frame) == message


@pytest.mark.parametrize("link", [0, 8, -1, 1.0, 2.5, "1", None, np.nan, [1], np.array([1, 2])])
def test_links_count_from_1_to_n(link, panda):
    message = f"link: expected an integer from 1 to 7, got {link!r}"
    assert message_of(ArgumentError, panda.com_jacobian, np.zeros(7), link) == message


@pytest.mark.parametrize("payload", [1.5, None, np.zeros(10)])
def test_a_payload_is_a_body(payload, panda):
    with pytest.raises(ArgumentError, match=r"payload: expected InertialParameters, got (float|NoneType|ndarray)$"):
        panda.with_payload(payload)


def test_an_arm_without_inertia_cannot_be_accelerated(panda):
    weightless = replace(panda, links=(pdr.InertialParameters.zero(),) * 7)
    with pytest.raises(RobotDescriptionError, match="links of panda: expected inertia at every joint"):
        weightless.forward_dynamics(np.zeros(7), np.zeros(7), np.ones(7))
