# SPDX-License-Identifier: Apache-2.0
"""What fuzzing does to bytes that were sound."""

import contextlib
import os
import time
from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

Example = TypeVar("Example")

BUDGET = float(os.environ.get("FUZZ_SECONDS", "0"))  # s for each kind of input; 0: few examples
SEED = int(os.environ.get("FUZZ_SEED", "0"))
# Words that mean something to one of the formats, and numbers at the edges of what a field can hold.
WORDS = [
    *(b"\x00\x00\x00\x00", b"\xff" * 8, b"\x00" * 7 + b"\x80", b"\x7f", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf"),
    *(b"nan", b"inf", b"-1e308", b"1e-320", b"1e999", b"9" * 400, b"0x10", b"1_0", b"true", b"~", b"null"),
    *(b"2001-99-99", b"&a [*a]", b"*a", b"!!python/object:os.system x", b"<<: ", b"- " * 300, b"[" * 300, b"{"),
    *(b"\t", b"\r", b"\n", b'"', b",", b";" * 50, b"t,q1,dq1,tau1\n"),
    *(b"<!ENTITY a 'b'>", b"&a;", b"<link name='a'/>", b"</robot>", b"<joint "),
]


@st.composite
def mutations(draw: st.DrawFn, original: bytes) -> bytes:
    """The bytes with a few of their parts overwritten, cut out, doubled or exchanged for meaningful words."""
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


def try_examples(strategy: st.SearchStrategy[Example], attempt: Callable[[Example], None], few: int = 60) -> int:
    """Hand examples to `attempt`, `few` or for BUDGET s; how many there were."""
    end, tried = time.monotonic() + BUDGET, 0

    @seed(SEED)
    @settings(
        max_examples=10_000_000 if BUDGET else few, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def try_one(example: Example) -> None:
        nonlocal tried
        if BUDGET and time.monotonic() > end:
            raise TimeoutError
        tried += 1
        attempt(example)

    with contextlib.suppress(TimeoutError):
        try_one()
    return tried
