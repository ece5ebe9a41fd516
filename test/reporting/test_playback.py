# SPDX-License-Identifier: Apache-2.0
"""A replay in the live view: at each time the sample and the estimate of then, nothing of what comes later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from motion import PAYLOAD, sinusoids, torques

import panda_dynamics_ros as pdr
from panda_dynamics_ros.recordings.replay import replay
from panda_dynamics_ros.reporting.console import mass_text
from panda_dynamics_ros.reporting.web_view import WebView, show_replay_at

viser = pytest.importorskip("viser", reason="the live view needs viser")


def test_what_was_known_then_is_shown(panda: pdr.RobotModel, tmp_path: Path) -> None:
    motion = sinusoids(3.0, 200.0, start=1000.0)
    # Picked up in the middle: an event of which nothing is to be seen before it.
    tau = torques(panda, motion)
    tau[300:] = torques(panda, motion, PAYLOAD)[300:]
    names = ["t", *(f"{kind}{i + 1}" for kind in ("q", "dq", "tau") for i in range(7))]
    table = np.column_stack((motion.stamp, motion.q, motion.dq, tau))
    np.savetxt(tmp_path / "log.csv", table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    data = pdr.load_dataset(tmp_path / "log.csv", panda)
    result = replay(data, panda)
    pick = next(event for event in result.events if event.kind == "pick")
    with WebView(panda, "a replay", 18530) as view:
        show_replay_at(data.stamp[0] - 1.0, data, result, view)
        nodes = view._server.scene._handle_from_node_name
        assert "/ee/z" not in nodes  # before the first sample
        for sample in (250, 599, 306):  # before the pick, long after it, and 30 ms after it
            stamp = data.stamp[sample] + 0.002  # between two samples the earlier one holds
            show_replay_at(stamp, data, result, view, "a remark")
            np.testing.assert_allclose(nodes["/ee/z"].position, panda.pose(data.q[sample])[:3, 3], atol=1e-6)
            words = view._words.content
            known = max(k for k, published in enumerate(result.published) if published <= sample)
            assert mass_text(result.estimates[known]) in words
            assert f"{stamp - data.stamp[0]:.1f} s" in words
            assert ("detected pick" in words) == (pick.stamp <= stamp)
        # A pick is a contact until the payload is known.
        assert "touched at link" in words
        assert any(name.startswith("/contact/") for name in nodes)
