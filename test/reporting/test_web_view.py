# SPDX-License-Identifier: Apache-2.0
"""The live page: what its server holds, and what a person sees of it in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import chromium, open_page
from matplotlib.image import imread

import panda_dynamics_ros as pdr
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.reporting import web_view
from panda_dynamics_ros.reporting.console import com_text, mass_text
from panda_dynamics_ros.reporting.scene import ArmScene
from panda_dynamics_ros.reporting.scene.tessellation import tessellate
from panda_dynamics_ros.reporting.web_view import MOST_POINTS, UNSEEN, History, WebScene, WebView

viser = pytest.importorskip("viser", reason="the live view needs viser")

Q = np.array([0.3, -0.5, 0.2, -2.0, 0.1, 1.8, 0.7])
PUSH = [0.0, 60.0, 0.0, 0.0, 0.0, 0.0]  # N, N m
PORT = 18230  # the next free one is taken


def estimate_of(mass: float, mass_std: float = 0.02) -> PayloadEstimate:
    body = pdr.InertialParameters(mass, np.array([0.02, -0.015, 0.06]), 0.002 * np.eye(3))
    covariance = np.diag([mass_std**2, *[1e-6] * 9])
    return PayloadEstimate(0.0, body.vector, covariance, np.ones(10, dtype=bool), "estimating")


@pytest.fixture
def view(
    panda: pdr.RobotModel, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[WebView]:
    """Of an arm that is drawn from its model, whatever meshes are installed."""
    monkeypatch.setattr(web_view, "ArmScene", partial(ArmScene, meshes=False))
    with WebView(panda, "a run", PORT) as view:
        yield view
    assert capsys.readouterr().out == ""  # what is printed belongs to the command


def nodes_of(view: WebView) -> dict[str, Any]:
    """Everything in the server's scene, by path."""
    return dict(view._server.scene._handle_from_node_name)


def test_the_servers_scene_follows_the_arm(view: WebView, panda: pdr.RobotModel) -> None:
    for q in (Q, Q + 0.2):
        view.show(0.0, q, estimate_of(1.0))
        nodes = nodes_of(view)
        for frame in panda.frames:
            T, node = panda.pose(q, frame), nodes[f"/{frame}"]
            np.testing.assert_allclose(node.position, T[:3, 3], atol=1e-6)
            w, x, y, z = node.wxyz
            # viser leaves an update out that is within 1e-5 and 1e-8 of what it has (numpy.allclose).
            np.testing.assert_allclose(pdr.pose.quaternion_to_matrix([x, y, z, w]), T[:3, :3], atol=1e-4)
        # The label goes with the payload, clear of the arm.
        com = (panda.pose(q) @ [0.02, -0.015, 0.06, 1.0])[:3]
        assert 0.05 < np.linalg.norm(nodes["/labels/payload/mass"].position - com) < 0.5
    for name in ("/joint3/arm/joint3", "/joint3/com/link3", "/joint2/gravity/joint2", "/flange/payload/box"):
        assert name in nodes


def test_what_is_put_down_is_gone(view: WebView) -> None:
    view.show(0.0, Q, estimate_of(1.0))
    assert "/flange/payload/box" in nodes_of(view)
    view.show(1.0, Q, estimate_of(0.0))
    assert "/flange/payload/box" not in nodes_of(view)
    assert "/joint3/arm/joint3" in nodes_of(view)


def test_a_hidden_layer_stays_hidden(view: WebView, panda: pdr.RobotModel) -> None:
    scene, maker = WebScene(view._server), ArmScene(panda, meshes=False)
    scene.show(maker.at(Q))
    scene.set_visible("com", False)
    scene.set_visible("payload", False)
    scene.show(maker.at(Q + 0.1, estimate_of(1.0)))
    visible = {path: node.visible for path, node in nodes_of(view).items() if path.count("/") == 3}
    assert {path.split("/")[2] for path, seen in visible.items() if not seen} == {"com", "payload"}
    scene.set_visible("payload", True)
    assert nodes_of(view)["/flange/payload/box"].visible


def test_small_changes_wait_until_they_can_be_seen(view: WebView, panda: pdr.RobotModel) -> None:
    """A torque that grows by little each time is drawn anew now and then, and never far from what it is."""
    scene, maker, drawn = WebScene(view._server), ArmScene(panda, meshes=False), []
    for k in range(60):
        made = maker.at(Q + 0.003 * k)
        scene.show(made)
        arc = next(each for each in made.primitives if each.name == "gravity/joint2")
        drawn.append(nodes_of(view)["/joint2/gravity/joint2"].vertices.copy())
        assert np.abs(drawn[-1] - tessellate(arc).vertices).max() < 1.1 * UNSEEN
    changes = sum(not np.array_equal(*pair) for pair in pairwise(drawn))
    assert 2 <= changes < 40


def test_two_views_have_two_addresses(view: WebView, panda: pdr.RobotModel) -> None:
    with WebView(panda, "another run", int(view.url.rpartition(":")[2])) as other:
        assert other.url != view.url


def test_ports_of_the_system_are_refused(panda: pdr.RobotModel) -> None:
    with pytest.raises(ArgumentError, match=r"port: expected 1024\.\.65535, got 80"):
        WebView(panda, "a run", 80)


@pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine (apt-get install chromium)")
def test_a_person_sees_the_arm_and_the_estimate(view: WebView, tmp_path: Path) -> None:
    for k in range(50):
        converged = 1.0 + 0.5 * np.exp(-0.1 * k)
        view.show(0.5 * k, Q, estimate_of(converged), [(0.1, "detected pick")], 1.0, PUSH, remark="1000 Hz")
    with open_page(view.url) as page:
        page.wait_for_text("1.004")
        page.wait_for_text("payload mass, kg (95 % band; truth red)")
        page.wait_for_text("centre of mass, mm")
        text = page.text()
        last = estimate_of(converged)
        for words in ("a run", mass_text(last), "estimating", "truly 1.000 kg", "J7"):
            assert words in text
        assert " ".join(com_text(last).split()) in " ".join(text.split())
        for words in ("24.5 s", "1000 Hz", "0.10 s", "detected pick"):
            assert words in text

        def arm_and_push_are_drawn() -> bool:
            """The links' teal balls and the violet arrow, in the part of the page that is the scene."""
            red, green, blue = np.moveaxis(imread(page.screenshot(tmp_path / "page.png"))[:, :950, :3], -1, 0)
            teal, violet = (green > 1.3 * red) & (blue > 1.3 * red), (red > 2.0 * green) & (blue > 1.5 * green)
            return bool(teal.sum() > 1000 and violet.sum() > 500)

        page.wait_for(arm_and_push_are_drawn, "the arm, and the push on it")
        assert page.complaints == []
        # Another state reaches a page that is open.
        view.show(30.0, Q, estimate_of(0.0))
        page.wait_for_text("centre of mass: not known")


# ---- the charts ------------------------------------------------------------


def test_an_hour_fits_and_none_of_it_is_forgotten() -> None:
    history = History()
    for k in range(18_000):
        history.add(0.2 * k, estimate_of(1.0, 0.01), None)
    time_s = history.mass_columns()[0]
    assert MOST_POINTS / 2 <= len(time_s) <= MOST_POINTS
    steps = np.diff(time_s)
    assert steps.max() < 2.0 * steps.min()  # as dense at its beginning as at its end, but for rounding to samples
    assert time_s[0] == 0.0
    assert time_s[-1] > 3600.0 - 2.0 * steps[0]


def test_the_band_is_the_95_percent_interval_and_ends_within_the_chart() -> None:
    history = History()
    history.add(0.0, estimate_of(1.0, 0.1), 1.1)
    history.add(1.0, estimate_of(0.0, 3.0), 0.0)
    time_s, lower, upper, mass, truth = history.mass_columns()
    np.testing.assert_allclose(time_s, [0.0, 1.0])
    np.testing.assert_allclose(mass, [1.0, 0.0])
    np.testing.assert_allclose(truth, [1.1, 0.0])
    np.testing.assert_allclose((lower[0], upper[0]), (1.0 - 0.196, 1.0 + 0.196))
    assert -1.0 < lower[1] < 0.0 < 1.1 < upper[1] < 2.0


def test_what_nobody_knows_is_not_drawn() -> None:
    history = History()
    history.add(0.0, estimate_of(0.0, 1.0), None)
    assert len(history.mass_columns()) == 4  # no truth
    assert [len(column) for column in history.com_columns()] == [0, 0, 0, 0]
    history.add(1.0, estimate_of(1.0, 0.01), None)
    np.testing.assert_allclose(np.transpose(history.com_columns()), [[1.0, 20.0, -15.0, 60.0]])


def test_points_too_close_are_left_out_and_a_step_back_starts_anew() -> None:
    history = History()
    assert history.add(0.0, estimate_of(1.0, 0.1), None)
    assert not history.add(0.1, estimate_of(1.0, 0.1), None)
    assert history.add(0.3, estimate_of(1.0, 0.1), None)
    assert history.add(0.0, estimate_of(2.0, 0.1), None)
    np.testing.assert_allclose(history.mass_columns()[3], [2.0])
