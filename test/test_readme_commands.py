# SPDX-License-Identifier: Apache-2.0
"""Every command of README.md and of the first pages is executed here, or is on a list with the reason why it is not.

A command is an indented line, or code that begins with a program's name. Python blocks run as they stand, in order.
"""

import ast
import importlib.metadata
import importlib.util
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import urdf_texts
from motion import PAYLOAD, sinusoids, torques, write_recording
from waiting import ran

import panda_dynamics_ros as pdr
from panda_dynamics_ros.cli import main

pytestmark = pytest.mark.usefixtures("not_drawn")
NAME = "panda_dynamics_ros"
ROOT = Path(__file__).resolve().parents[1]
NAMES = ("README.md", "docs/install.md", "docs/quickstart.md", "docs/commands.md", "docs/connect.md")
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
SETUP = (ROOT / "setup.py").read_text(encoding="utf-8")
TOPICS = (ROOT / "docs" / "topics.md").read_text(encoding="utf-8")  # test_pages.py compares it with the nodes
PROGRAMS = re.compile(r"(make|panda-dynamics|ros2|colcon|rosdep|pip|python3?) .+")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
COMPLETED = {  # what a reader puts in place of capitals, and what makes a command quick
    "panda-dynamics COMMAND --help": "panda-dynamics replay --help",
    "panda-dynamics replay BAG": "panda-dynamics replay my_recording.mcap --output replayed",
    "panda-dynamics replay --example": "panda-dynamics replay --example --bag-format none --output example",
    "panda-dynamics replay my_recording.mcap --robot my_arm.urdf --output result": (
        "panda-dynamics replay my_recording.mcap --robot my_arm.urdf --output other"
    ),
    "panda-dynamics convert LOG DIR": "panda-dynamics convert my_recording.mcap converted",
    "panda-dynamics warm-up": "panda-dynamics warm-up payload_estimator",
    "panda-dynamics pose": "panda-dynamics pose --q 0 -0.4 0 -2 0 1.7 0.8",
    "panda-dynamics weigh --unloaded RUN... --loaded RUN...": "panda-dynamics weigh --unloaded empty.mcap "
    "--loaded my_recording.mcap --output weighed_recordings",
    "panda-dynamics export": "panda-dynamics export --functions gravity_torques --output panda.c",
}
WRITES = {
    "panda-dynamics replay --example": "example/summary.json",
    "panda-dynamics replay BAG": "replayed/results/results.mcap",
    "panda-dynamics replay my_recording.mcap --output result": "result/summary.json",
    "panda-dynamics replay my_recording.mcap --robot my_arm.urdf --output result": "other/summary.json",
    "panda-dynamics convert LOG DIR": "converted",
    "panda-dynamics weigh --unloaded RUN... --loaded RUN...": "weighed_recordings/weigh.png",
    "panda-dynamics export": "panda.c",
    "panda-dynamics export --language c --output panda_dynamics.c": "panda_dynamics.c",
}
WORKSPACE = "test_colcon_build.py builds, installs and runs in a workspace of its own"
OTHER_LOGS = "test_other_logs.py, or test_other_arms.py, reads such a log"
SKIPPED = {
    r"panda-dynamics demo": "nodes/test_demo.py runs it",
    r"panda-dynamics replay \S+ --view": "test_view_option.py opens the page",
    r"panda-dynamics weigh --(simulate|plan)": "test_weigh_command.py runs it",
    r"panda-dynamics batch PATH\.\.\.": "test_cluster.py runs the commands of its page",
    r"panda-dynamics (excite|simulate MOTION|identify DATA\.\.\.)": "test_tutorial.py runs it",
    r"panda-dynamics live.*": "test_live_command.py runs it on robots of the loopback",
    r"panda-dynamics (replay|convert) (log.csv|episode_0.parquet).*": OTHER_LOGS,
    r"panda-dynamics replay (mujoco_log|ur_log|ur_driver|iiwa_log|kortex_log)\..*": OTHER_LOGS,
    r"rosdep install --from-paths src --ignore-src -y": "installs Debian packages; test_package.py checks their names",
    r"cd ~/ws|colcon build --packages-select panda_dynamics_ros|source install/setup.bash": WORKSPACE,
    r"python -m panda_dynamics_ros.nodes.dynamics": "test/nodes starts all nodes so",
    r"ros2 (run|launch)|xacro my_arm.urdf.xacro > my_arm.urdf": "a program of ROS 2, not a command",
    r"ros2 (security .*|run rmw_zenoh_cpp .*|run .* --enclave .*)|export ROS_SECURITY.*": "untried, as the page says",
}


def commands() -> list[str]:
    """Without comments, once each, in the order of the pages."""
    found = []
    for page in PAGES.values():
        text = BLOCK.sub("", page)
        lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
        inline = [code for code in re.findall(r"`([^`\n]+)`", text) if PROGRAMS.fullmatch(code)]
        found += [re.split(r"\s+#", line)[0] for line in (*lines, *inline)]
    return list(dict.fromkeys(found))


class Workshop:
    """A folder in which commands run, each once, after those whose files it reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._done: dict[str, int] = {}

    def run(self, command: str) -> int:
        """The exit code of a `panda-dynamics` command of the README."""
        if command not in self._done:
            self._done[command] = main(shlex.split(COMPLETED.get(command, command))[1:])
        return self._done[command]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    pytest.importorskip("rosbags", reason="recordings are written with rosbags")
    folder, robot, motion = tmp_path_factory.mktemp("readme"), pdr.load_robot("panda"), sinusoids(3.0, 200.0)
    for name, payload, begin in (("my_recording", PAYLOAD, 1.7e9), ("empty", None, 1.7e9 - 60.0)):
        values = begin + motion.stamp, motion.q, motion.dq, torques(robot, motion, payload)
        shutil.copy(write_recording(folder / f"{name}_written", robot.joint_names, *values), folder / f"{name}.mcap")
    urdf = urdf_texts.panda().splitlines()
    unbranched = [line for line in urdf if not re.search('"(left|right)"', line)]  # one element a line: no fingers
    (folder / "my_arm.urdf").write_text("\n".join(unbranched), encoding="utf-8")
    return Workshop(folder)


def check_command(command: str, workshop: Workshop, patch: pytest.MonkeyPatch) -> None:
    """`panda-dynamics ...`, in this process."""
    patch.chdir(workshop.folder)
    assert workshop.run(command) == 0
    assert command not in WRITES or (workshop.folder / WRITES[command]).exists()


def check_pip(command: str, workshop: Workshop, patch: pytest.MonkeyPatch) -> None:
    """Offline: pip knows the names, and that they are there; of this package, the extras exist."""
    arguments = shlex.split(command)[2:]
    if extras := re.fullmatch(r"\.\[(.*)\]", arguments[-1]):
        assert set(extras[1].split(",")) <= set(importlib.metadata.metadata(NAME).get_all("Provides-Extra") or [])
        return
    wanted = [word for word in arguments if not word.startswith("-")]
    assert [word for word in wanted if re.search("[<>=]", word) and f'"{word}"' not in SETUP] == []
    names = [re.split("[<>=]", word)[0] for word in wanted]
    for name in names:
        pytest.importorskip(name, reason=f"pip would have to fetch {name}")
    if importlib.util.find_spec("pip") is None:
        pytest.skip("no pip in this environment")
    done = ran([sys.executable, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", *arguments])
    assert all(re.search(rf"already satisfied: {name}\b", done.stdout) for name in names)


def check_make(command: str, workshop: Workshop, patch: pytest.MonkeyPatch) -> None:
    """`make test` would call itself, others take minutes: what make would do is asked for."""
    if shutil.which("make") is None:
        pytest.skip("no make on this machine")
    done = ran(["make", "-n", *command.split()[1:]], cwd=ROOT)
    target = command.split()[1]
    program = {"demo": "panda-dynamics demo", "test": "-m pytest", "docs": "-m sphinx", "help": "make bench"}
    assert program.get(target, "-m benchmarks.") in done.stdout


def check_launch(command: str, workshop: Workshop, patch: pytest.MonkeyPatch) -> None:
    """File and arguments are there; test_launch_files.py executes all three where launch_ros is installed."""
    _, _, package, file, *given = command.split()
    assert package == NAME
    names, declared = {argument.partition(":=")[0] for argument in given}, set()
    nodes = ROOT / NAME / "nodes"
    for source in (ROOT / "launch" / file, nodes / "launching.py", nodes / "interface.py"):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "argument":
                declared.add(getattr(node.args[0], "value", ""))
            elif isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "OF_ARM":  # a parameter, an argument
                assert isinstance(node.value, ast.Dict)
                declared |= {ast.literal_eval(key) for key in node.value.keys if key}
    assert names <= declared
    if shutil.which("ros2") is None:
        pytest.skip("no `ros2` on this machine: only file and arguments were checked")
    ran(["ros2", "launch", ROOT / "launch" / file, *given, "--show-args"])


def check_interface(command: str, workshop: Workshop, patch: pytest.MonkeyPatch) -> None:
    """The topic or service is one of the nodes'."""
    assert f"| `{command.split()[3].removeprefix('/')}` |" in TOPICS


def skip(command: str, workshop: Workshop, patch: pytest.MonkeyPatch) -> None:
    """Not to be executed here."""
    pytest.skip(next(reason for pattern, reason in SKIPPED.items() if re.fullmatch(pattern, command)))


Check = Callable[[str, Workshop, pytest.MonkeyPatch], None]
RULES: dict[str, Check] = {
    **dict.fromkeys(SKIPPED, skip),
    r"make .+": check_make,
    r"pip install .*": check_pip,
    r"ros2 launch .*": check_launch,
    r"ros2 (topic echo|service call) .*": check_interface,
    r"panda-dynamics .*": check_command,
}


@pytest.mark.parametrize("command", commands())
def test_command(command, workshop, monkeypatch):
    check = next((rule for pattern, rule in RULES.items() if re.fullmatch(pattern, command)), None)
    assert check is not None, f"{command!r} is new: say in this file how it is executed, or why not"
    check(command, workshop, monkeypatch)


def test_no_rule_is_left_over():
    found = commands()
    assert len(found) > 25
    assert set(COMPLETED) <= set(found)
    for pattern in (pattern for pattern in SKIPPED if not pattern.startswith("make")):
        assert any(re.fullmatch(pattern, command) for command in found), pattern


@pytest.mark.parametrize("name", [*NAMES, "docs/frames.md", "docs/view.md"])
def test_the_python_blocks_run(name, workshop, monkeypatch):
    """What a comment says of the last line is compared by test_docs.py."""
    monkeypatch.chdir(workshop.folder)
    page = (ROOT / name).read_text(encoding="utf-8")
    code = "".join(block for language, block in BLOCK.findall(page) if language == "python")
    assert code or name not in ("README.md", "docs/quickstart.md")
    exec(code, {})
