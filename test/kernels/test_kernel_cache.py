# SPDX-License-Identifier: Apache-2.0
"""The kernels' cache on disk: it is used, a change of any kernel is noticed, and nobody else can put code into it. Of
several processes that start at once, one compiles, the others wait and load.

Real processes with a cache folder of their own, and a kernel of the package that compiles in a second.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from waiting import FIRST_START, PATIENCE, ran

from panda_dynamics_ros import warm_up
from panda_dynamics_ros.dynamics import newton_euler
from panda_dynamics_ros.dynamics.kernels import compiled
from panda_dynamics_ros.untrusted import python_command

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy as np
import panda_dynamics_ros as pdr
from panda_dynamics_ros.dynamics.friction import friction_memory_kernel
from panda_dynamics_ros.dynamics.kernels.compiled import CACHE
assert (pdr.load_robot("panda").friction_torques(np.ones(7)) > 0.0).any()
print(CACHE, sum(friction_memory_kernel.stats.cache_hits.values()), friction_memory_kernel.signatures != [])
"""


def run(folder: Path, **environment: str) -> tuple[Path, int, str]:
    """The cache's folder, hits, and what was said by a process that works in `folder` and computes friction torques."""
    own = {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder), "XDG_CACHE_HOME": str(folder / "usual")} | environment
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = ran([sys.executable, "-c", PROGRAM], cwd=folder, env=inherited | own, timeout=FIRST_START)
    cache, hits, is_compiled = done.stdout.split()
    assert is_compiled == "True"
    return Path(cache), int(hits), done.stderr


def test_the_next_process_loads_what_one_has_compiled(tmp_path):
    cache, hits, said = run(tmp_path)
    assert (cache.parent, hits, said) == (tmp_path / "usual", 0, "")
    assert run(tmp_path) == (cache, 1, "")


def test_the_folder_is_named_after_the_texts_of_all_kernels(tmp_path, monkeypatch):
    """numba looks at the file of a kernel alone, not at those of the kernels that it calls."""
    monkeypatch.setattr(compiled, "PACKAGE", tmp_path)
    names = []
    for file, text in (("a", "@part\ndef a(): 1"), ("b", "@compiled\ndef b(): 1"), ("a", "@part\ndef a(): 2")):
        (tmp_path / f"{file}.py").write_text(f"\n{text}\n")
        names.append(compiled._texts())
    (tmp_path / "c.py").write_text("def c(): 1")
    assert len(set(names)) == 3
    assert compiled._texts() == names[-1], "a file without kernels does not matter"


def test_a_configuration_of_numba_in_the_working_folder_is_not_read(tmp_path):
    """A folder of recordings from a stranger: with `cache_dir` its forged machine code would be run."""
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: taken\ndisable_jit: 1\nopt: 7\ncpu_name: generic\n")
    cache, _, said = run(tmp_path)
    assert (cache.parent, said) == (tmp_path / "usual", "")
    assert not (tmp_path / "taken").exists()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """The places where the cache may be are in this folder."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "usual"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_that_others_may_write_to_is_no_cache(elsewhere, monkeypatch):
    shared = elsewhere / "shared"
    shared.mkdir()
    shared.chmod(0o757)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(shared))
    with pytest.warns(RuntimeWarning, match=f"compiled kernels are not kept in {shared}"):
        usual = compiled._cache_folder()
    assert usual is not None
    assert usual.parent == elsewhere / "usual"
    usual.chmod(0o777)
    with pytest.warns(RuntimeWarning):
        temporary = compiled._cache_folder()
    assert temporary is not None
    assert temporary.parent.parent == elsewhere, "in the folder for temporary files"
    shared.chmod(0o755)
    chosen = compiled._cache_folder()
    assert chosen is not None
    assert chosen.parent == shared


def test_where_nothing_can_be_written_there_is_no_cache(elsewhere):
    (elsewhere / "usual").write_text("")
    (elsewhere / f"panda_dynamics_ros-{os.geteuid()}").write_text("")
    with pytest.warns(RuntimeWarning) as said:
        assert compiled._cache_folder() is None
    assert len(said) == 2


def test_private_is_what_nobody_else_can_write_to_or_replace(tmp_path):
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    assert compiled.is_private(inner)
    for mode in (0o777, 0o757):
        inner.parent.chmod(mode)
        assert not compiled.is_private(inner), "others may rename it"
    inner.parent.chmod(0o1777)
    assert compiled.is_private(inner), "as in /tmp"
    link = tmp_path / "link"
    link.symlink_to(inner)
    assert not compiled.is_private(link)
    if os.geteuid() == 0:
        os.chown(inner, 12345, 12345)
        assert not compiled.is_private(inner), "of another user"


def test_one_version_of_a_kernel_serves_every_memory_layout(panda):
    """numba takes read-only and unaligned arrays for types of their own: seconds of compiling, in mid-stream."""
    read_only = np.broadcast_to(0.5, (2, 7))
    unaligned = np.frombuffer(bytes(57), dtype=np.uint8)[1:].view(np.float64)
    panda.inverse_dynamics(np.zeros(7), np.zeros(7), np.zeros(7))
    panda.inverse_dynamics(read_only, unaligned, [0] * 7)
    panda.inverse_dynamics(unaligned, unaligned, unaligned)
    assert len(newton_euler.newton_euler_of_one.signatures) == 1


# A "node" that takes as long as its standard input is open, instead of one that compiles for ten seconds.
WARMING = """
import sys
from panda_dynamics_ros import warm_up
warm_up.NODES = {"one": lambda _: print("run", flush=True) or sys.stdin.readline()}
warm_up.warm_up("one", report=lambda line: print(line.split()[0], flush=True))
print("done", flush=True)
"""


@pytest.fixture
def environment(tmp_path):
    """With a cache of this test's own."""
    return os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}


def start(environment: dict[str, str], program: str = WARMING) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def heard(process: subprocess.Popen[str], *lines: str) -> None:
    """The next lines that a process prints are these."""
    assert process.stdout is not None
    assert tuple(process.stdout.readline().strip() for _ in lines) == lines


def test_the_first_process_compiles_and_the_second_waits_and_loads(environment):
    first = start(environment)
    heard(first, "compiling", "run")
    second = start(environment)
    heard(second, "compiling")
    assert first.communicate("\n\n", timeout=PATIENCE)[0].split() == ["run", "done"]
    assert second.communicate("\n", timeout=PATIENCE)[0].split() == ["run", "done"], "it loads, and does not compile"
    assert start(environment).communicate("\n", timeout=PATIENCE)[0].split() == ["run", "done"]


def test_after_a_process_that_was_killed_while_it_compiled_the_next_one_does(environment):
    first = start(environment)
    heard(first, "compiling", "run")
    waiting = start(environment)
    heard(waiting, "compiling")
    first.kill()
    first.wait(timeout=PATIENCE)
    heard(waiting, "run")
    assert waiting.communicate("\n\n", timeout=PATIENCE)[0].split() == ["run", "done"]


def test_a_node_goes_on_while_another_process_compiles(tmp_path, monkeypatch):
    """It then loads; where all is in the cache it starts no other process."""
    done: list[str] = []
    monkeypatch.setattr(warm_up, "CACHE", tmp_path)
    monkeypatch.setattr(warm_up, "NODES", {"one": lambda _: done.append("load")})
    compiler = [sys.executable, "-c", f"open({str(tmp_path / 'wait')!r}).close()"]
    monkeypatch.setattr(warm_up, "python_command", lambda module, node: [*compiler, module, node])
    os.mkfifo(tmp_path / "wait")
    loaded = warm_up.warm_up_beside("one", done.append)
    assert not loaded.is_set()
    (tmp_path / "wait").open("w").close()  # returns once the other process reads: it then ends
    assert loaded.wait(PATIENCE)
    words = "the estimators wait until another process has compiled their kernels, once after an installation"
    assert done[:2] == [words, "load"]
    (tmp_path / "one").touch()
    assert warm_up.warm_up_beside("one", done.append).is_set()
    assert done[-1] == "load"


def test_the_other_process_ends_with_the_first(environment):
    command = python_command("panda_dynamics_ros.warm_up", "suite")
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE) as process:
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert not (compiled._prepared(Path(environment["NUMBA_CACHE_DIR"])) / "suite").exists()


def test_without_a_simulation_its_kernels_are_not_compiled(environment):
    unused = WARMING.replace("NODES = {", 'NODES = {"simulated_panda": lambda _: print("simulated", flush=True), ')
    assert start(environment, unused).communicate("\n\n", timeout=PATIENCE)[0] == "compiling\nrun\nrun\ndone\n"


def test_who_needs_the_first_kernels_alone_does_not_wait_for_the_others(environment):
    """Of two that start at once, the one that compiles goes on to what the other does not need."""
    zero = '"zero": lambda _: print("begin", flush=True) or sys.stdin.readline()'
    two = WARMING.replace("NODES = {", f"NODES = {{{zero}, ")
    first = start(environment, two)
    heard(first, "compiling", "begin")
    second = start(environment, two.replace('warm_up("one"', 'warm_up("zero"'))
    heard(second, "compiling")
    assert first.stdin is not None
    first.stdin.write("\n")
    first.stdin.flush()
    heard(first, "compiling", "run")
    assert second.communicate("\n", timeout=PATIENCE)[0].split() == ["begin", "done"]
    assert first.communicate("\n\n", timeout=PATIENCE)[0].split() == ["run", "done"]
