# SPDX-License-Identifier: Apache-2.0
"""What the whole suite shares: seeded random numbers, robots, where the public robot logs lie."""

import json
import signal
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from launched import installed_package
from limited import LimitedReaders

import panda_dynamics_ros as pdr
from panda_dynamics_ros.cli import main

# Derandomised: a run that fails fails again. No deadline: the first call of a kernel may compile it.
hypothesis.settings.register_profile("seeded", derandomize=True, deadline=None, max_examples=30)
hypothesis.settings.load_profile("seeded")


# A shell starts what it puts into the background with SIGINT ignored, and so would all processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LOGS = Path(__file__).resolve().parents[2] / "shared" / "data"


def some(names: str | tuple[str, ...], values: Iterable[Any], always: int = 1) -> pytest.MarkDecorator:
    """`parametrize`, of whose values the first ones run always, and the rest with the slow tests."""
    rows, slow = [(each,) if isinstance(names, str) else each for each in values], pytest.mark.slow
    return pytest.mark.parametrize(names, [pytest.param(*r, marks=[slow] * (k >= always)) for k, r in enumerate(rows)])


def message_of(kind: Any, call: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """The message, of one line, of the error of this kind with which the call is refused."""
    with pytest.raises(kind) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend on the test's name alone, so that the order of tests does not matter."""
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))


@pytest.fixture(scope="session")
def panda() -> pdr.RobotModel:
    return pdr.load_robot("panda")


@pytest.fixture(scope="session", params=["panda", "panda_ledezma", "fr3"])
def robot(request: pytest.FixtureRequest) -> pdr.RobotModel:
    """Every arm of the library in turn."""
    return pdr.load_robot(request.param)


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Call it with the words of a command, which succeeds: what it answers to a program, with `--json`."""

    def call(*words: object) -> dict[str, Any]:
        code = main([*map(str, words), "--json"])
        printed = capsys.readouterr()
        assert (code, printed.err) == (0, "")
        return json.loads(printed.out)

    return call


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """The package as colcon installs it, for ROS 2's launch system."""
    pytest.importorskip("launch_ros", reason="ROS 2's launch system is not installed")
    return installed_package(tmp_path / "install")


SAVEFIG = "matplotlib.figure.Figure.savefig"
Save = Callable[..., None]


@pytest.fixture(scope="module")
def not_drawn() -> Iterator[Save]:
    """Pictures are files without a content: to draw them is three quarters of a replay's work. What draws them."""
    from matplotlib.figure import Figure

    def save(figure: object, target: Any, **options: object) -> None:
        (target.write if hasattr(target, "write") else Path(target).write_bytes)(b"")

    with pytest.MonkeyPatch.context() as patch:
        before = Figure.savefig
        patch.setattr(SAVEFIG, save)
        yield before


@pytest.fixture
def drawn(not_drawn: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are drawn in one test of a module where they are not."""
    monkeypatch.setattr(SAVEFIG, not_drawn)


@pytest.fixture(scope="module")
def readers() -> Iterator[LimitedReaders]:
    with LimitedReaders() as readers:
        yield readers


def public_log(relative: str) -> Path:
    """A public log beside the repository; its licence keeps it out of it. Skips the test where it is absent."""
    path = LOGS / relative
    if not path.is_file():
        pytest.skip(f"the public robot log {path} is not on this machine")
    return path


@pytest.fixture(scope="session")
def panda_1khz_log() -> Path:
    """A real Panda's excitation, CSV, 1 kHz, 7.6 s, no payload: t, q1..7, dq1..7, tau1..7."""
    return public_log("panda_gaz/excitation_1khz_first_7600ms.csv")


@pytest.fixture(scope="session")
def panda_30hz_bag() -> Path:
    """A real Panda's rosbag2 (sqlite3, no metadata.yaml) of /joint_states at 30 Hz, 24 s."""
    return public_log("panda_unisa_bag/panda_exciting_trajectory.db3")


# What waits for processes, so that another worker of pytest-xdist computes meanwhile, and files that take long.
FIRST = ("/nodes/", "/annotation/", "/fuzz/", "/kernels/", "test_colcon_build", "test_readme_commands")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Last are files that end soon: no worker is left alone with a long one. What launches runs real nodes."""
    for item in items:
        if "prefix" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.ros)
    items.sort(key=lambda item: next((k for k, part in enumerate(FIRST) if part in item.nodeid), len(FIRST)))
