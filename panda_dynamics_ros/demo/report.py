# SPDX-License-Identifier: Apache-2.0
"""A recording of the demo as rows for a person, summary.json, pictures and an MCAP file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.demo.recording import CONTACT, INPUT, Recording
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.model import load_robot
from panda_dynamics_ros.recordings.bag_writing import write_joint_states
from panda_dynamics_ros.recordings.dataset import load_dataset
from panda_dynamics_ros.recordings.replay import replay
from panda_dynamics_ros.reporting.console import com_text, mass_text, payload_rows
from panda_dynamics_ros.reporting.plots import PayloadHistory, plot_payload, plot_torques
from panda_dynamics_ros.reporting.scene import ArmScene
from panda_dynamics_ros.reporting.scene_picture import draw_scene
from panda_dynamics_ros.reporting.summary import build_summary, write_summary
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.robot.joint_mapping import JointMapping

if TYPE_CHECKING:
    from panda_dynamics_ros.reporting.web_view import WebView

ROBOT = "panda"


@dataclass(frozen=True)
class Outcome:
    """The summary, the same for a person, and the files written."""

    summary: dict[str, Any]
    rows: list[tuple[str, str]]
    files: list[Path]


def live_rows(recording: Recording, elapsed: float, duration: float) -> list[tuple[str, str]]:
    """The demo's table while it runs."""
    carried = recording.truth[-1][1].mass if recording.truth else 0.0
    rows = [("robot time", f"{elapsed:5.1f} of {duration:.0f} s"), ("truly carried", f"{carried:6.3f} kg")]
    if recording.estimates:
        rows += payload_rows(recording.estimates[-1])
    changes = "; ".join(f"{kind} at {stamp - recording.start:.2f} s" for stamp, kind in recording.changes)
    return [*rows, ("stream", recording.status(INPUT).summary), ("detected changes", changes or "none yet")]


def show(recording: Recording, view: WebView) -> None:
    """Show the latest of what was published, once there is an estimate."""
    if not recording.estimates:
        return
    began, last = recording.start, recording.joint_states[-1]
    q, _, _ = JointMapping(view.robot.joint_names).extract(last.names, last.position, last.velocity, last.effort)
    events = [(stamp - began, "picked up" if body.mass > 0.0 else "put down") for stamp, body in recording.truth[1:]]
    events += [(stamp - began, f"detected {kind}") for stamp, kind in recording.changes]
    events += [(stamp - began, f"contact on link {link}") for stamp, link in recording.contacts]
    remark, truth_mass, wrench = recording.status(INPUT).summary, recording.truth[-1][1].mass, None
    contact = recording.status(CONTACT).values
    if contact.get("link") and not contact.get("until"):
        remark, wrench = f"{remark}, touched at link {contact['link']}", recording.wrench
    view.show(last.stamp - began, q, recording.estimates[-1], sorted(events), truth_mass, wrench, remark)


def report(recording: Recording, output: Path) -> Outcome:
    """Write the files of a finished demo into the folder `output`; returns them with summary and rows."""
    bag = output / "recording"
    write_joint_states(bag, recording.joint_states, storage="mcap", overwrite=True)
    robot = load_robot(ROBOT)
    data = load_dataset(bag, robot)
    offline = replay(data, robot)
    stream = recording.status(INPUT).values
    truth = max((body for _, body in recording.truth), key=lambda body: body.mass)
    last, estimates = _last_carried(recording), recording.estimates
    summary = build_summary(
        samples=int(stream["received"]),
        dropped=sum(int(stream[key]) for key in ("lost", "rejected", "out_of_order")),
        duration_s=recording.joint_states[-1].stamp - recording.start,
        rate_hz=float(stream["rate_hz"]),
        torque_residual_rms=offline.torque_residual_rms,
        problem=offline.problem,
        joint_offsets=offline.joint_offsets,
        joint_offsets_std=offline.joint_offsets_std,
        payload=last,
        truth=truth,
        events=_events(recording),
        stamp=np.array([estimate.stamp for estimate in estimates]),
        mass=np.array([estimate.mass for estimate in estimates]),
        com=np.array([estimate.com for estimate in estimates]),
        time_origin=recording.start,
    )
    time = data.stamp - recording.start
    scene = ArmScene(robot).at(data.q[np.searchsorted(data.stamp, last.stamp) - 1], last)
    files = [
        write_summary(summary, output),
        _plot(recording, offline.problem, output),
        bag,
        draw_scene(scene, output / "scene.png", banner=offline.problem),
        plot_torques(
            time, data.tau, offline.gravity_torques, offline.residual, output / "torques.png", offline.problem
        ),
    ]
    return Outcome(summary, _rows(recording, summary, truth, last), files)


def _last_carried(recording: Recording) -> PayloadEstimate:
    """The last estimate before the payload was put down (by the truth), or of the run."""
    released = [stamp for stamp, body in recording.truth[1:] if body.mass == 0.0]
    before = [estimate for estimate in recording.estimates if not released or estimate.stamp < released[0]]
    return before[-1] if before else recording.estimates[0]


def _events(recording: Recording) -> list[tuple[float, str]]:
    """True and detected changes, with their stamps."""
    truth = [(stamp, "picked" if body.mass > 0.0 else "released") for stamp, body in recording.truth[1:]]
    return sorted(truth + [(stamp, f"detected_{kind}") for stamp, kind in recording.changes])


def _plot(recording: Recording, problem: str, output: Path) -> Path:
    stamps = np.array([estimate.stamp for estimate in recording.estimates])
    truth_mass, truth_com = _truth_over(stamps, recording)
    history = PayloadHistory.of(
        stamps - recording.start,
        recording.estimates,
        events=tuple((stamp - recording.start, f"detected {kind}") for stamp, kind in recording.changes),
        truth_mass=truth_mass,
        truth_com=truth_com,
    )
    return plot_payload(
        history, output / "payload.png", "A simulated Panda's payload, found over ROS 2 topics", problem
    )


def _truth_over(stamps: FloatArray, recording: Recording) -> tuple[FloatArray, FloatArray]:
    mass, com = np.zeros(len(stamps)), np.full((len(stamps), 3), np.nan)
    for stamp, body in recording.truth:
        mass[stamps >= stamp] = body.mass
        com[stamps >= stamp] = body.com if body.mass > 0.0 else np.nan
    return mass, com


def _rows(
    recording: Recording, summary: dict[str, Any], truth: InertialParameters, last: PayloadEstimate
) -> list[tuple[str, str]]:
    rows = [
        ("stream", f"{summary['samples']} samples at {summary['rate_hz']:.0f} Hz, {summary['dropped']} dropped"),
        ("mass", f"{mass_text(last)} (truth {truth.mass:.3f})"),
        ("centre of mass", f"{com_text(last)} (truth {'  '.join(f'{1e3 * c:.1f}' for c in truth.com)})"),
    ]
    stamps = [estimate.stamp for estimate in recording.estimates]
    for event in summary["events"]:
        index = np.searchsorted(stamps, event["stamp"] + recording.start + 2.0)
        later = recording.estimates[min(int(index), len(stamps) - 1)]
        where = f", CoM {'  '.join(f'{1e3 * c:.0f}' for c in later.com)} mm" if later.com_is_known else ""
        rows.append((f"{event['stamp']:7.3f} s", f"{event['kind']}; 2 s later {event['mass_after_2s']:.3f} kg{where}"))
    return rows
