# SPDX-License-Identifier: Apache-2.0
"""What the demo recorded, as rows for a person, summary.json, pictures and an mcap recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from panda_dynamics_ros import load_robot
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.nodes.demo_monitor import Recording
from panda_dynamics_ros.recordings.bag_writing import write_joint_states
from panda_dynamics_ros.recordings.dataset import load_dataset
from panda_dynamics_ros.recordings.joint_states import JointStateSample
from panda_dynamics_ros.recordings.replay import replay
from panda_dynamics_ros.reporting.plots import PayloadHistory, plot_payload, plot_torques
from panda_dynamics_ros.reporting.scene_picture import draw_scene
from panda_dynamics_ros.reporting.summary import floats, payload_entry, truth_entry, write_summary
from panda_dynamics_ros.robot import InertialParameters
from panda_dynamics_ros.samples.joint_mapping import JointMapping
from panda_dynamics_ros.scene import ArmScene

if TYPE_CHECKING:
    from panda_dynamics_ros.reporting.web_view import WebView

ROBOT = "panda"
LIGHTEST = 0.1  # kg, whose centre of mass is shown
INPUT, ESTIMATE, CONTACT = "payload_estimator: input", "payload_estimator: estimate", "panda_dynamics: contact"


def estimate_at(recording: Recording, index: int) -> PayloadEstimate:
    """The estimate that the topics carried as the index-th one."""
    stamp, body = recording.payload[index]
    covariance = recording.covariance[index]
    status, values = recording.diagnostics.get(ESTIMATE, ("", {}))
    flags = np.array([flag == "1" for flag in values.get("identifiable", "0" * 10)])
    return PayloadEstimate(stamp, body.vector, covariance, flags, status)


def live_rows(recording: Recording, elapsed: float, duration: float) -> list[tuple[str, str]]:
    """The demo's table while it runs."""
    carried = recording.truth[-1][1].mass if recording.truth else 0.0
    rows = [("robot time", f"{elapsed:5.1f} of {duration:.0f} s"), ("truly carried", f"{carried:6.3f} kg")]
    if recording.covariance:
        estimate = estimate_at(recording, len(recording.covariance) - 1)
        rows.append(("payload mass", f"{estimate.mass:6.3f} ± {2.0 * estimate.std[0]:.3f} kg"))
        com = "  ".join(f"{1e3 * c:6.1f}" for c in estimate.com)
        known = estimate.mass > LIGHTEST and estimate.com_std.max() < 0.1
        rows.append(("centre of mass", f"{com} mm" if known else "not identifiable"))
        rows.append(("status", estimate.status))
    began = recording.joint_states[0][0]
    changes = "; ".join(f"{kind} at {stamp - began:.2f} s" for stamp, kind in recording.changes) or "none yet"
    return [*rows, ("stream", recording.diagnostics[INPUT][0]), ("detected changes", changes)]


def show(recording: Recording, view: WebView) -> None:
    """Show the latest of what came over the topics, once there is an estimate."""
    if not recording.covariance:
        return
    began = recording.joint_states[0][0]
    stamp, names, *motion = recording.joint_states[-1]
    q, _, _ = JointMapping(view.robot.joint_names).extract(names, *motion)
    estimate = estimate_at(recording, len(recording.covariance) - 1)
    events = [(stamp - began, "picked up" if body.mass > 0.0 else "put down") for stamp, body in recording.truth[1:]]
    events += [(stamp - began, f"detected {kind}") for stamp, kind in recording.changes]
    events += [(stamp - began, f"contact on link {link}") for stamp, link in recording.contacts.items()]
    remark, truth_mass, wrench = recording.diagnostics[INPUT][0], recording.truth[-1][1].mass, None
    if link := touched_link(recording):
        remark, wrench = f"{remark}, touched at link {link}", recording.wrench
    view.show(stamp - began, q, estimate, sorted(events), truth_mass, wrench, remark)


def touched_link(recording: Recording) -> str:
    """The link on which a contact lasts; empty while there is none."""
    _, contact = recording.diagnostics.get(CONTACT, ("", {}))
    return contact.get("link", "") if not contact.get("until") else ""


def report(recording: Recording, output: Path) -> tuple[dict[str, Any], list[tuple[str, str]], list[Path]]:
    """Summary, rows and files of a finished demo."""
    began = recording.joint_states[0][0]
    bag = output / "recording"
    write_joint_states(
        bag, (JointStateSample(*sample) for sample in recording.joint_states), storage="mcap", overwrite=True
    )
    robot = load_robot(ROBOT)
    data = load_dataset(bag, robot)
    offline = replay(data, robot)
    last = _last_carried(recording)
    stream = recording.diagnostics[INPUT][1]
    dropped = sum(int(stream[key]) for key in ("lost", "rejected", "out_of_order"))
    truth = max((body for _, body in recording.truth), key=lambda body: body.mass)
    summary = {
        "samples": int(stream["received"]),
        "dropped": dropped,
        "duration_s": recording.joint_states[-1][0] - began,
        "rate_hz": float(stream["rate_hz"]),
        "torque_residual_rms": floats(offline.torque_residual_rms),
        "payload": payload_entry(last),
        "truth": truth_entry(truth),
        "events": _events(recording, began),
    }
    files = [write_summary(summary, output), *_plots(recording, began, output), bag]
    scene = ArmScene(robot).at(data.q[np.searchsorted(data.stamp, last.stamp) - 1], last)
    files.append(draw_scene(scene, output / "scene.png"))
    time = data.stamp - began
    files.append(plot_torques(time, data.tau, offline.gravity_torques, offline.residual, output / "torques.png"))
    return summary, _rows(summary, truth, last), files


def _last_carried(recording: Recording) -> PayloadEstimate:
    """The last estimate before the payload was put down (by the truth), or of the run."""
    released = [stamp for stamp, body in recording.truth[1:] if body.mass == 0.0]
    last = len(recording.covariance) - 1
    if released:
        stamps = [stamp for stamp, _ in recording.payload[: last + 1]]
        last = max(0, int(np.searchsorted(stamps, released[0])) - 1)
    return estimate_at(recording, last)


def _events(recording: Recording, began: float) -> list[dict[str, Any]]:
    """True and detected changes in order of time, stamps counted from the first sample."""
    truth = [(stamp, "picked" if body.mass > 0.0 else "released") for stamp, body in recording.truth[1:]]
    detected = [(stamp, f"detected_{kind}") for stamp, kind in recording.changes]
    stamps = [stamp for stamp, _ in recording.payload[: len(recording.covariance)]]
    events = []
    for stamp, kind in sorted(truth + detected):
        later = min(int(np.searchsorted(stamps, stamp + 2.0)), len(stamps) - 1)
        body = recording.payload[later][1]
        entry = {
            "stamp": stamp - began,
            "kind": kind,
            "mass_after_2s": float(body.mass),
            "com_after_2s": floats(body.com),
        }
        events.append(entry)
    return events


def _plots(recording: Recording, began: float, output: Path) -> list[Path]:
    count = len(recording.covariance)
    stamps = np.array([stamp for stamp, _ in recording.payload[:count]])
    estimates = [estimate_at(recording, index) for index in range(count)]
    truth_mass, truth_com = _truth_over(stamps, recording)
    changes = [(stamp - began, f"detected {kind}") for stamp, kind in recording.changes]
    history = PayloadHistory(
        time=stamps - began,
        mass=np.array([estimate.mass for estimate in estimates]),
        mass_std=np.array([estimate.std[0] for estimate in estimates]),
        com=np.array([estimate.com for estimate in estimates]),
        com_std=np.array([estimate.com_std for estimate in estimates]),
        events=tuple(changes),
        truth_mass=truth_mass,
        truth_com=truth_com,
    )
    return [plot_payload(history, output / "payload.png", "A simulated Panda's payload, found over ROS 2 topics")]


def _truth_over(stamps: FloatArray, recording: Recording) -> tuple[FloatArray, FloatArray]:
    mass, com = np.zeros(len(stamps)), np.full((len(stamps), 3), np.nan)
    for stamp, body in recording.truth:
        mass[stamps >= stamp] = body.mass
        com[stamps >= stamp] = body.com if body.mass > 0.0 else np.nan
    return mass, com


def _rows(summary: dict[str, Any], truth: InertialParameters, last: PayloadEstimate) -> list[tuple[str, str]]:
    rows = [
        ("stream", f"{summary['samples']} samples at {summary['rate_hz']:.0f} Hz, {summary['dropped']} dropped"),
        ("mass", f"{last.mass:.3f} ± {2.0 * last.std[0]:.3f} kg (truth {truth.mass:.3f})"),
        (
            "centre of mass",
            "  ".join(f"{1e3 * c:.1f} ± {2e3 * s:.1f}" for c, s in zip(last.com, last.com_std, strict=True))
            + f" mm (truth {'  '.join(f'{1e3 * c:.1f}' for c in truth.com)})",
        ),
    ]
    for event in summary["events"]:
        mass, com = event["mass_after_2s"], "  ".join(f"{1e3 * c:.0f}" for c in event["com_after_2s"])
        # A mass of next to nothing has its centre anywhere.
        where = f", CoM {com} mm" if mass > LIGHTEST else ""
        rows.append((f"{event['stamp']:7.3f} s", f"{event['kind']}; 2 s later {mass:.3f} kg{where}"))
    return rows
