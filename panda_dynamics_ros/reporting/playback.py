# SPDX-License-Identifier: Apache-2.0
"""A replay shown in a web page at the pace of its recording."""

from __future__ import annotations

import time

import numpy as np

from panda_dynamics_ros.recordings.replay import Replay
from panda_dynamics_ros.reporting.web_view import PERIOD, WebView
from panda_dynamics_ros.samples.joint_dataset import JointDataset


def play(data: JointDataset, result: Replay, view: WebView, rate: float = 1.0) -> None:
    """Show what the nodes would have published, from the moment that somebody opens the page.

    Parameters
    ----------
    rate: speed, times real time.
    """
    view.wait_for_viewer()
    began, first = time.monotonic(), float(data.stamp[0])
    elapsed = 0.0
    while elapsed < data.duration_s:
        elapsed = min(rate * (time.monotonic() - began), data.duration_s)
        show_at(first + elapsed, data, result, view, f"of {data.duration_s:.1f} s, {rate:g} times real time")
        time.sleep(PERIOD)


def show_at(stamp: float, data: JointDataset, result: Replay, view: WebView, remark: str = "") -> None:
    """Show the recording at `stamp`, s, with the estimate that was known then. Nothing before the first estimate."""
    sample = int(np.searchsorted(data.stamp, stamp, side="right")) - 1
    known = int(np.searchsorted(result.published, sample, side="right")) - 1
    if known < 0:
        return
    first = data.stamp[0]
    events = [(event.stamp - first, f"detected {event.kind}") for event in result.events if event.stamp <= stamp]
    link, wrench = result.touched_link, None
    begins = np.flatnonzero((link[1 : sample + 1] > 0) & (link[:sample] == 0)) + 1
    events += [(data.stamp[k] - first, f"contact on link {link[k]}") for k in begins]
    if link[sample] > 0:
        remark, wrench = f"{remark}, touched at link {link[sample]}", result.contact_wrench[sample]
    view.show(stamp - first, data.q[sample], result.estimates[known], sorted(events), wrench=wrench, remark=remark)
