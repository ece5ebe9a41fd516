# SPDX-License-Identifier: Apache-2.0
"""Recordings of an arm as arrays: from rosbag2 or CSV, with what was left out counted by reason."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from panda_dynamics_ros import checks
from panda_dynamics_ros.dynamics.model import load_robot
from panda_dynamics_ros.errors import DataError, SampleError
from panda_dynamics_ros.estimation.validation import IMPLAUSIBLE, SampleGate
from panda_dynamics_ros.recordings.bags import LATEST_STAMP, JointStateSample, JointStateStream, SampleStream
from panda_dynamics_ros.recordings.table_files import TABLES, TableStream
from panda_dynamics_ros.robot import RobotDescription
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.robot.joint_mapping import MISSING_JOINTS, NOT_FINITE, OTHER_JOINTS, ArmJoints
from panda_dynamics_ros.robot.stamps import BACKWARD_STAMP, DUPLICATE_STAMP, FUTURE_STAMP, STAMP_JUMP
from panda_dynamics_ros.untrusted import exists, is_file

EXAMPLE = Path(__file__).with_name("example.csv.gz")  # made by `python -m benchmarks.example_recording`

NOT_SECONDS = "stamp not in seconds"
BLOCK = 10_000  # samples in a block of a recording that is read piece by piece: 2 MB


def load_dataset(
    path: str | Path, robot: RobotDescription | str | Path | None = None, *, topic: str | None = None,
    joint_names: Sequence[str] | None = None, arm_prefix: str = "", columns: str | None = None,
) -> JointDataset:  # fmt: skip
    """The samples of a recording that can be used.

    Left out, and counted in `rejected`: samples with only some of the arm's joints, of disagreeing lengths, without
    velocity or effort, with values that are not finite or only zero effort, with a stamp that was there before
    or lies before the last one, or more than a second after both its neighbours; where the robot is given, also
    samples that it cannot have measured (see `SampleGate`).

    path: a rosbag2 recording (.db3, .mcap or its folder), or a table (.csv, .csv.gz, .npz, .h5, .parquet) with
        columns t, q1.., dq1.., tau1.. in s, rad, rad/s, N m.
    robot: the arm, which gives number and names of joints. By default seven of a Panda, FER or FR3, or those of a CSV.
    topic, arm_prefix: which joint states of a recording, where there are several; see `read_joint_states`.
    columns: which columns of a table are time, positions, velocities and torques, as "t=time:ms q=pos_# dq=vel_#
        tau=torque_#" (see `recordings.table_files`); left out, the names above, or those of libfranka's logToCSV,
        panda-python, frankapy, DROID or LeRobot. Where there are no velocities, positions are differentiated. Episodes
        (a column `episode_index`) follow each other with pauses.
    joint_names: names in the recording from base to tip, where they follow no known scheme.
    Raises DataFileNotFoundError: there is no such file.
    Raises DataError: the file cannot be read, or has no usable sample, or more that are in other units or of another
        arm; the message states the counts.
    Raises ArgumentError: several arms fit.
    """
    blocks = SampleBlocks(path, robot, topic, joint_names, arm_prefix, columns)
    parts, whole = list(blocks), dict[str, Any]()
    for name in ("stamp", "q", "dq", "tau", "recorded_ns", "tau_ext"):
        arrays = [getattr(part, name) for part in parts]
        whole[name] = None if arrays[0] is None else np.concatenate(arrays)
    return replace(parts[0], **whole, rejected=dict(blocks.rejected), notes=blocks.stream.notes)


class SampleBlocks:
    """The samples of `load_dataset`, about `size` at a time and in order of time; parameters and errors are the same.

    They can be read once. Memory does not grow with the length of an MCAP or SQLite recording; a table is read whole.

    stream: what is read; its `notes` are what else is to be said of the file, complete after the last block.
    rejected: how many samples were left out so far, by reason; complete after the last block.
    """

    def __init__(
        self, path: str | Path, robot: RobotDescription | str | Path | None = None, topic: str | None = None,
        joint_names: Sequence[str] | None = None, arm_prefix: str = "", columns: str | None = None, size: int = BLOCK,
    ) -> None:  # fmt: skip
        if robot is not None and not isinstance(robot, RobotDescription):
            robot = load_robot(robot)
        path = checks.path(path, "path")
        of_table = path.name.lower().endswith(tuple(TABLES)) and (is_file(path) or not exists(path))
        self.stream: SampleStream = TableStream(path, columns) if of_table else JointStateStream(path, topic)
        wanted = tuple(joint_names or (robot.joint_names if robot else self.stream.names))
        self._gate = SampleGate(robot) if robot else None
        self._joints, self._size = ArmJoints(wanted, arm_prefix, not joint_names), size
        self.rejected, self._examples = Counter[str](), dict[str, str]()

    def __iter__(self) -> Iterator[JointDataset]:
        samples, used = self._in_order(self._usable()), 0
        while rows := list(islice(samples, self._size)):
            used += len(rows)
            yield self._block(rows)
        # Of wrong units a few pass: an arm at rest has no velocity in any, and stamps begin at zero.
        if used <= sum(self.rejected[reason] for reason in (NOT_SECONDS, *IMPLAUSIBLE)):
            most = self.rejected.most_common()
            counts, total = ", ".join(f"{count} {reason}" for reason, count in most), used + self.rejected.total()
            among = f"among {total} ({counts}){self._examples.get(most[0][0], '')}" if most else "at all"
            raise DataError(f"{self.stream.path}: expected usable samples, got {used or 'none'} {among}")

    def _block(self, rows: list[JointStateSample]) -> JointDataset:
        def column(name: str) -> Any:
            """All rows have the field, or none."""
            return None if getattr(rows[0], name) is None else np.array([getattr(row, name) for row in rows])

        stamp, q, dq, tau = (column(name) for name in ("stamp", "position", "velocity", "effort"))
        more = {"recorded_ns": column("recorded_ns"), "tau_ext": column("external")}
        return JointDataset(stamp, q, dq, tau, rows[0].names, str(self.stream.path), **more)

    def _usable(self) -> Iterator[JointStateSample]:
        """The samples of the arm's joints alone, in its order; those that cannot be used are counted as rejected."""
        unknown = Counter[tuple[str, ...]]()  # names of samples that came before those of the arm were known
        for sample in self.stream:
            try:
                mapping = self._joints.mapping_for(sample.names)
                fields = mapping.extract(sample.names, sample.position, sample.velocity, sample.effort)
                if not abs(sample.stamp) < LATEST_STAMP:
                    reason = NOT_SECONDS if math.isfinite(sample.stamp) else NOT_FINITE
                    raise SampleError(f"stamp: expected s, below 2^31 (not ns, us or ms), got {sample.stamp:g}", reason)
                if self._gate is not None:
                    self._gate.check(sample.stamp, *fields)
            except SampleError as error:
                reason = error.reason if self._joints.mapping else MISSING_JOINTS
                if reason == OTHER_JOINTS:
                    continue
                if self._joints.mapping is None:
                    unknown[sample.names] += 1
                else:
                    self.rejected[reason] += 1
                self._examples.setdefault(reason, f"; for example {error}")
                continue
            yield JointStateSample(sample.stamp, mapping.joint_names, *fields, sample.recorded_ns, sample.external)
        arm = self._joints.mapping.joint_names if self._joints.mapping else ()
        missing = sum(n for names, n in unknown.items() if not (arm and names and set(arm).isdisjoint(names)))
        self.rejected.update({MISSING_JOINTS: missing} if missing else {})
        self.rejected.update(self.stream.rejected)

    def _in_order(self, samples: Iterator[JointStateSample]) -> Iterator[JointStateSample]:
        """Those whose stamps come after all before them; the others are counted as rejected."""
        latest = before = -math.inf
        for sample, following in pairwise(chain(samples, [None])):
            assert sample is not None
            stamp, after = sample.stamp, math.inf if following is None else following.stamp
            # One such stamp would make all that follow it backward ones.
            if before < after and max(before, after) < stamp - STAMP_JUMP:
                self.rejected[FUTURE_STAMP] += 1
            elif stamp == latest:
                self.rejected[DUPLICATE_STAMP] += 1
            elif stamp < latest:
                self.rejected[BACKWARD_STAMP] += 1
            else:
                latest = stamp
                yield sample
            before = stamp
