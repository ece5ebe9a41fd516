# SPDX-License-Identifier: Apache-2.0
"""Mutated files of each kind: read, or refused in one line, within ten seconds and a gigabyte.

`make test` spends some seconds on each kind of file, `make fuzz` an hour on all (FUZZ_SECONDS, FUZZ_SEED). A file that
once went wrong belongs into test/fuzz/corpus, into the folder of its kind, and stays there.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import urdf_texts
from bag_files import samples, storage_file
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from limited import LimitedReaders

import panda_dynamics_ros as pdr
from panda_dynamics_ros.estimation import PayloadEstimate
from panda_dynamics_ros.estimation.payload.estimate import PayloadMemory
from panda_dynamics_ros.estimation.payload.payload_file import save_estimate
from panda_dynamics_ros.recordings import write_joint_states

CORPUS = Path(__file__).parent / "corpus"
BUDGET = float(os.environ.get("FUZZ_SECONDS", "8"))  # s for each kind of file
SEED = int(os.environ.get("FUZZ_SEED", "0"))
ROBOT = Path(pdr.__file__).parent / "robot"
# Words that mean something to one of the formats, and numbers at the edges of what a field can hold.
WORDS = [
    *(b"\x00\x00\x00\x00", b"\xff" * 8, b"\x00" * 7 + b"\x80", b"\x7f", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf"),
    *(b"nan", b"inf", b"-1e308", b"1e-320", b"1e999", b"9" * 400, b"0x10", b"1_0", b"true", b"~", b"null"),
    *(b"2001-99-99", b"&a [*a]", b"*a", b"!!python/object:os.system x", b"<<: ", b"- " * 300, b"[" * 300, b"{"),
    *(b"\t", b"\r", b"\n", b'"', b",", b";" * 50, b"t,q1,dq1,tau1\n"),
    *(b"<!ENTITY a 'b'>", b"&a;", b"<link name='a'/>", b"</robot>", b"<joint "),
]


@pytest.fixture(scope="module")
def readers() -> Iterator[LimitedReaders]:
    with LimitedReaders() as readers:
        yield readers


def csv_log() -> bytes:
    names = ["t", *(f"{field}{i + 1}" for field in ("q", "dq", "tau") for i in range(7))]
    rows = np.column_stack((0.01 * np.arange(5), np.random.default_rng(0).normal(size=(5, 21))))
    return "\n".join([",".join(names), *(",".join(f"{x:.3g}" for x in row) for row in rows)]).encode()


def npz_log(folder: Path) -> bytes:
    np.savez_compressed(
        folder / "log.npz", time=np.arange(5), q=np.ones((5, 7)), dq=np.ones((5, 7)), tau_J=np.ones((5, 7))
    )
    return (folder / "log.npz").read_bytes()


def bag(folder: Path, storage: str) -> bytes:
    file = write_joint_states(folder / "bag", samples(5), storage)
    content = storage_file(file.parent).read_bytes()
    shutil.rmtree(file.parent)
    return content


def payload(folder: Path) -> bytes:
    body = pdr.InertialParameters(1.0, np.array([0.0, 0.0, 0.05]), 0.002 * np.eye(3))
    estimate = PayloadEstimate(0.0, body.vector, 1e-4 * np.eye(10), np.ones(10, dtype=bool), "estimating")
    memory = PayloadMemory(body.vector, 1e-4 * np.eye(10), np.zeros(10))
    return save_estimate(estimate, memory, folder / "payload.yaml").read_bytes()


KINDS: dict[str, tuple[str, str, Callable[[Path], bytes]]] = {
    "mcap": ("dataset", ".mcap", lambda folder: bag(folder, "mcap")),
    "db3": ("dataset", ".db3", lambda folder: bag(folder, "sqlite3")),
    "csv": ("dataset", ".csv", lambda _: csv_log()),
    "npz": ("dataset", ".npz", npz_log),
    "robot": ("robot", ".yaml", lambda _: (ROBOT / "arms" / "panda.yaml").read_bytes()),
    "urdf": ("robot", ".urdf", lambda _: urdf_texts.six_revolute().encode()),
    "end_effector": ("end_effector", ".yaml", lambda _: (ROBOT / "end_effectors" / "hand.yaml").read_bytes()),
    "payload": ("payload", ".yaml", payload),
}


@st.composite
def mutations(draw: st.DrawFn, original: bytes) -> bytes:
    """The file with a few of its parts overwritten, cut out, doubled or exchanged for meaningful words."""
    content = bytearray(original)
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, max(len(content) - 1, 0)))
        length = draw(st.integers(0, 64))
        how = draw(st.sampled_from(["flip", "overwrite", "insert", "word", "cut", "double", "truncate"]))
        if how == "flip" and content:
            content[place] ^= 1 << draw(st.integers(0, 7))
        elif how == "overwrite":
            content[place : place + length] = draw(st.binary(min_size=length, max_size=length))
        elif how == "insert":
            content[place:place] = draw(st.binary(max_size=64))
        elif how == "word":
            word = draw(st.sampled_from(WORDS))
            content[place : place + draw(st.sampled_from([0, len(word)]))] = word
        elif how == "cut":
            del content[place : place + length]
        elif how == "double":
            content[place:place] = content[place : place + length] * draw(st.integers(1, 20))
        elif draw(st.integers(0, 3)) == 0:
            del content[place:]
    return bytes(content)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mutated_file_is_read_or_refused(kind: str, readers: LimitedReaders, tmp_path: Path) -> None:
    reader, ending, make = KINDS[kind]
    original = make(tmp_path)
    path = tmp_path / f"file{ending}"
    path.write_bytes(original)
    assert readers.outcome(reader, path).startswith("read: ")
    end, tried, crashes = time.monotonic() + BUDGET, 0, list[str]()

    @seed(SEED)
    @settings(
        max_examples=10_000_000, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(mutations(original))
    def tried_one(content: bytes) -> None:
        nonlocal tried
        if time.monotonic() > end:
            raise TimeoutError
        tried += 1
        path.write_bytes(content)
        outcome = readers.outcome(reader, path)
        if not outcome.startswith(("read: ", "refused: ")) or len(outcome) > 2000:
            kept = tmp_path / f"crash{len(crashes)}{ending}"
            kept.write_bytes(content)
            crashes.append(f"{kept}: {outcome:.300}")

    with pytest.raises(TimeoutError):
        tried_one()
    assert tried > 20
    assert not crashes, f"{len(crashes)} of {tried}:\n" + "\n".join(crashes[:10])


@pytest.mark.parametrize("file", sorted(CORPUS.glob("*/*")), ids=lambda file: f"{file.parent.name}/{file.name}")
def test_what_once_went_wrong_is_read_or_refused(file: Path, readers: LimitedReaders) -> None:
    outcome = readers.outcome(KINDS[file.parent.name][0], file)
    assert outcome.startswith(("read: ", "refused: ")), outcome
