# SPDX-License-Identifier: Apache-2.0
"""A payload estimate in a YAML file: for people, for Franka's set_load, and to restore an estimator from."""

import base64
import math
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from panda_dynamics_ros import checks
from panda_dynamics_ros.errors import ArgumentError, DataError, DataFileNotFoundError
from panda_dynamics_ros.estimation.estimate import ArmMemory, PayloadEstimate, PayloadMemory
from panda_dynamics_ros.robot.description import RobotDescription
from panda_dynamics_ros.robot.yaml_file import read_yaml
from panda_dynamics_ros.untrusted import exists, replacing

EXPECTED = "expected a saved payload (of the service ~/save)"
# libyaml, where PyYAML was built with it, takes a quarter of the time: saving holds up no samples.
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_PAYLOAD, _ARM = ("vector", "covariance", "tare"), ("mean", "covariance", "noise_ratio")


def franka_load(estimate: PayloadEstimate) -> dict[str, Any]:
    """The arguments of Franka's set_load: mass, F_x_Cload and the inertia about the CoM, column-major."""
    return {
        "mass": float(estimate.mass),
        "center_of_mass": estimate.com.tolist(),
        "load_inertia": estimate.inertia.ravel(order="F").tolist(),
    }


def save_estimate(
    estimate: PayloadEstimate, memory: PayloadMemory, path: str | Path, robot: RobotDescription | None = None
) -> Path:
    """Write an estimate with its uncertainty, and what the estimator needs to go on from it, as YAML.

    A file that is there is replaced as a whole: whoever is killed while saving leaves the old one.

    robot: the arm; its direction of gravity is saved, too.
    Returns the path written.
    Raises OSError: the file cannot be written.
    """
    target = checks.path(path, "path")
    target.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "frame": "flange",
        "stamp": float(estimate.stamp),
        "status": estimate.status,
        "franka_set_load": franka_load(estimate),
        "vector_about_flange": estimate.vector.tolist(),
        "std": estimate.std.tolist(),
        "identifiable": estimate.identifiable.tolist(),
        "memory": {name: getattr(memory, name).tolist() for name in _PAYLOAD},
    }
    if robot is not None:
        content["memory"]["gravity"] = robot.gravity.tolist()
    if memory.arm is not None:
        # As text: a thousand numbers in one line, to the bit, in a fraction of a millisecond.
        arrays = {name: getattr(memory.arm, name).astype("<f8").tobytes() for name in _ARM}
        content["memory"]["arm"] = {name: base64.b64encode(each).decode("ascii") for name, each in arrays.items()}
    with replacing(target) as file:
        text = yaml.dump(content, Dumper=_Dumper, sort_keys=False, default_flow_style=None)
        file.write_text(text, encoding="utf-8")
    return target


def load_estimate(path: str | Path, robot: RobotDescription | None = None) -> PayloadMemory:
    """What an estimator needs to go on from a saved estimate: see `PayloadEstimator.restore`.

    robot: the arm that goes on. Mounted otherwise, it has another tilt, and gravity shows other errors of its links, in
        which its memory counts: a memory of another direction of gravity, if that was saved, is refused.
    Raises DataFileNotFoundError: there is no such file.
    Raises DataError: it is not a saved payload; the message says what is wrong with it.
    """
    path = checks.path(path, "path")
    if not exists(path):
        raise DataFileNotFoundError(f"{path}: {EXPECTED}, got no such file")
    try:
        content = read_yaml(path)
    except DataError as error:
        raise DataError(f"{path}: {EXPECTED}, got: {str(error).removeprefix(f'{path}: ')}") from error
    memory: Any = content.get("memory") if isinstance(content, dict) else None
    if missing := [f"memory.{name}" for name in _PAYLOAD if not isinstance(memory, dict) or name not in memory]:
        raise DataError(f"{path}: {EXPECTED}, got a file without {', '.join(missing)}")
    try:
        arm = None if memory.get("arm") is None else _arm_of(memory["arm"])
        if robot is not None and "gravity" in memory:
            saved = checks.exactly(memory["gravity"], (3,), "memory.gravity")
            if not np.allclose(saved, robot.gravity):
                words = f"expected {robot.gravity.tolist()}, got {saved.tolist()}"
                raise ArgumentError(f"memory.gravity: {words}: it was saved with another robot or mounting")
        stamp = content.get("stamp", -math.inf)  # as of an estimator that has had no sample
        stamp = stamp if stamp == -math.inf else checks.number(stamp, "stamp")
        return PayloadMemory(memory["vector"], memory["covariance"], memory["tare"], arm, stamp)
    except ArgumentError as error:
        raise DataError(f"{path}: {error}") from error


def _arm_of(content: object) -> ArmMemory:
    if not isinstance(content, dict) or set(content) != set(_ARM):
        raise ArgumentError(f"memory.arm: expected {', '.join(_ARM)}, got {content!r:.60}")
    arrays = []
    for name in _ARM:
        try:
            numbers = np.frombuffer(base64.b64decode(content[name], validate=True), "<f8")
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"memory.arm.{name}: expected numbers in base64, got {content[name]!r:.40}") from error
        arrays.append(checks.real_array(numbers, f"memory.arm.{name}"))
    mean, covariance, noise_ratio = arrays
    if covariance.size != mean.size**2:
        raise ArgumentError(f"memory.arm.covariance: expected {mean.size**2} numbers, got {covariance.size}")
    return ArmMemory(mean, covariance.reshape(mean.size, mean.size), noise_ratio)
