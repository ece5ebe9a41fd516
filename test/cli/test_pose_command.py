# SPDX-License-Identifier: Apache-2.0
"""`panda-dynamics pose` as a person and as a program use it."""

import io
from array import array
from typing import Any

import numpy as np
import pytest

from panda_dynamics_ros import pose
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.cli import main

# A pose with negative numbers everywhere, some of them tiny.
MEASURED = [-306.9, 12.5, -486.0, -170.0, -20.0, 45.0]
T = pose.measure_pose_to_matrix(MEASURED)
FORMATS: dict[str, FloatArray] = {
    "column-major": pose.to_column_major(T),
    "matrix": T.ravel(),
    "quaternion": np.concatenate([T[:3, 3], -2.0 * pose.matrix_to_quaternion(T[:3, :3])]),
    "measure-pose": np.array(MEASURED),
}
READY = [0.0, -0.785, -1e-3, -2.356, 0.0, 1.571, 0.785]


def words(values: Any) -> list[str]:
    return [repr(float(value)) for value in values]


@pytest.mark.parametrize("source", FORMATS)
def test_every_format_gives_all_the_others(source, answer):
    found = answer("pose", "--from", source, *words(FORMATS[source]))
    assert set(found) == {"matrix", "column_major", "quaternion", "translation", "measure_pose"}
    # Roundings of numbers of order one, and of mm and degrees of order hundreds.
    np.testing.assert_allclose(found["matrix"], T, atol=1e-14)
    np.testing.assert_allclose(found["column_major"], pose.to_column_major(T), atol=1e-14)
    np.testing.assert_allclose(found["translation"], T[:3, 3], atol=1e-14)
    np.testing.assert_allclose(found["quaternion"], pose.matrix_to_quaternion(T[:3, :3]), atol=1e-14)
    np.testing.assert_allclose(found["measure_pose"], MEASURED, atol=1e-11)


@pytest.mark.parametrize(
    "text",
    [
        " ".join(words(MEASURED)),
        ",".join(words(MEASURED)),
        "\n".join(words(MEASURED)) + "\n",
        str(MEASURED),
        f"{array('d', MEASURED)}\n---\n",  # ros2 topic echo --field data
        "".join(f"- {word}\n" for word in words(MEASURED)) + "---\n",
    ],
)
@pytest.mark.parametrize("way", ["stdin", "one word"])
def test_numbers_may_be_separated_and_given_in_any_way(text, way, answer, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    found = answer("pose", "--from", "measure-pose", "-" if way == "stdin" else text)
    np.testing.assert_allclose(found["matrix"], T, atol=1e-14)


def test_what_a_person_reads_can_be_given_again(capsys, answer):
    assert main(["pose", "--from", "measure-pose", *words(MEASURED)]) == 0
    blocks: list[list[str]] = []
    for line in capsys.readouterr().out.splitlines():
        if line.startswith("  "):
            blocks[-1] += line.split()
        else:  # a heading
            blocks.append([])
    matrix, column_major, translation, quaternion, measured = blocks
    given = {"matrix": matrix, "column-major": column_major, "quaternion": translation + quaternion}
    for source, block in (given | {"measure-pose": measured}).items():
        found = answer("pose", "--from", source, *block)
        np.testing.assert_allclose(found["matrix"], T, atol=5e-9)  # nine digits were printed
    assert measured == ["-306.9", "12.5", "-486", "-170", "-20", "45"]


@pytest.mark.parametrize("frame", ["flange", "ee", "joint3", "base"])
def test_forward_kinematics(frame, panda, capsys, answer):
    arguments = ["pose", "--robot", "panda", "--q", *words(READY), "--frame", frame]
    np.testing.assert_allclose(answer(*arguments)["matrix"], panda.pose(READY, frame), atol=1e-15)
    assert main(arguments) == 0
    assert f"T_base_{frame} of panda" in capsys.readouterr().out
