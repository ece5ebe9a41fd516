# SPDX-License-Identifier: Apache-2.0
"""Trials of the offline twin: what a whole recording says of a payload, beside what the estimator says at its end.

The smoother is told nothing but what the estimator has detected; where it is told that the arm carries nothing
outside the pick and the drop, its row says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.payload import real_log, recordings
from benchmarks.payload.arms import real_parts, simulated
from benchmarks.payload.methods import Answer
from benchmarks.payload.samples import MASSES, Samples, body
from benchmarks.payload.scores import score
from benchmarks.payload.trial import Outcome, Trial, judged
from panda_dynamics_ros import InertialParameters, RobotModel
from panda_dynamics_ros.estimation import PayloadEstimator, smooth_payloads

FORWARD, SMOOTHED, TARED = "estimator, at the end", "smoothed", "smoothed, unloaded parts told"
CARRIED = (2.0, 5.0, recordings.CARRIED)
"""s with the payload, of simulated arms."""
STEP = 0.5  # s between the moments of the log that are tried


@dataclass(frozen=True)
class OfflineTrial(Trial):
    """Estimator and smoother over whole recordings; an outcome's `time` is that with the payload."""

    def _simulated(self, seed: int) -> Iterator[Outcome]:
        data, robot = recordings.carrying(seed, self.mass), simulated(self.arm, seed)
        pick = recordings.SKIPPED + recordings.LEAD
        for carried in CARRIED:
            whole = carried == recordings.CARRIED
            end = pick + carried
            window = data.between(recordings.SKIPPED, end + recordings.REST if whole else end)
            unloaded = [recordings.SKIPPED + 0.5 * recordings.LEAD, *([end + 0.5 * recordings.REST] if whole else [])]
            yield from self._outcomes("simulated", robot, window, pick, end, unloaded, carried, body(self.mass, seed))

    def _real(self) -> Iterator[Outcome]:
        payload, log = body(self.mass), real_log.log()
        torques = real_log.payload_torques(payload)
        for robot, first, end in real_parts(self.arm):
            for pick in np.arange(first + 1.0, end - 1.0 + 1e-9, STEP):
                for since, until, unloaded in ((pick, end, 0.5 * (first + pick)), (first, pick, 0.5 * (pick + end))):
                    carried = (log.stamp >= since) & (log.stamp < until)
                    data = log.with_torques(torques * carried[:, None]).between(first, end)
                    # One row for all: few of them last equally long.
                    yield from self._outcomes("real log", robot, data, since, until, [unloaded], np.nan, payload)

    def _outcomes(
        self, source: str, robot: RobotModel, data: Samples, since: float, until: float, unloaded: list[float],
        carried: float, payload: InertialParameters,
    ) -> Iterator[Outcome]:  # fmt: skip
        forward = _forward(robot, data, until)
        answers = {FORWARD: forward}
        for name, told in ((SMOOTHED, ()), (TARED, unloaded)):
            segments = smooth_payloads(robot, data.stamp, data.q, data.dq, data.tau, told)
            middle = 0.5 * (since + until)
            estimate = next(segment.estimate for segment in reversed(segments) if segment.start <= middle)
            answers[name] = Answer(estimate.vector, estimate.covariance)
        for name, answer in answers.items():
            yield judged(source, self.arm, "pick", carried, name, payload, answer)


def _forward(robot: RobotModel, data: Samples, until: float) -> Answer:
    """The estimator's answer at the last sample before `until`."""
    estimator = PayloadEstimator(robot)
    estimate = answer = estimator.estimate
    for stamp, q, dq, tau in zip(data.stamp, data.q, data.dq, data.tau, strict=True):
        estimate = estimator.update(stamp, q, dq, tau)
        if stamp < until - 1e-9:
            answer = estimate
    return Answer(answer.vector, answer.covariance)


def trials(seeds: int, real: bool) -> list[OfflineTrial]:
    """All of them."""
    return OfflineTrial.all([mass for mass in MASSES if mass > 0.0], seeds, real)


def print_offline(out: Console, outcomes: list[Outcome]) -> None:
    """Mass RMSE and median CoM error by source, model and time with the payload; share of intervals that held."""
    shown = Table(title="a whole recording: mass RMSE g / CoM mm; 95 % intervals that held", title_justify="left")
    masses = sorted({o.mass for o in outcomes})
    for heading in ("source", "model", "s carried", "from", *(f"{mass:g} kg" for mass in masses), "mass / CoM held, %"):
        shown.add_column(heading, justify="left" if heading == "from" else "right")
    order = [FORWARD, SMOOTHED, TARED]

    def place(o: Outcome) -> tuple[str, str, float, int]:
        return o.source, o.arm, -1.0 if np.isnan(o.time) else o.time, order.index(o.method)

    for (source, arm, time, rank), group in groupby(sorted(outcomes, key=place), key=place):
        pooled = list(group)
        scores = [score([o for o in pooled if o.mass == mass]) for mass in masses]
        held = score(pooled)
        shown.add_row(
            source, arm, "1-6.4" if time < 0.0 else f"{time:g}", order[rank],
            *(f"{1e3 * s.mass_rmse:.0f} / {1e3 * s.com_median:.1f}" for s in scores),
            f"{100 * held.mass_held:.0f} / {100 * held.com_held:.0f}", end_section=rank == len(order) - 1,
        )  # fmt: skip
    out.print(shown)
