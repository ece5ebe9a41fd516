# SPDX-License-Identifier: Apache-2.0
"""The shape of the house, held by a machine: who may import whom."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from waiting import ran

NAME = "panda_dynamics_ros"
ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / NAME
FILES = sorted(PACKAGE.rglob("*.py"))

# Room (a folder or a file of the package): the rooms that it imports, beside itself. `__init__` is the package's own
# front door: the public names, which `__init__.pyi` imports for editors. The arrow is robot -> dynamics ->
# {estimation, identification, simulation} -> {recordings, reporting} -> {nodes, annotation} -> cli.
CHECKED = {"checks", "errors"}
ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "untrusted": {"errors"},
    "checks": {"errors"},
    "pose": CHECKED,
    "robot": {"pose", "untrusted", *CHECKED},
    "dynamics": {"robot", *CHECKED},
    "symbolic": {"robot", "errors"},
    "codegen": {"robot", "dynamics", *CHECKED},
    "live": {"robot", "errors"},
    "estimation": {"robot", "dynamics", "untrusted", *CHECKED},
    "identification": {"robot", "dynamics", *CHECKED},
    "simulation": {"robot", "dynamics", "untrusted", *CHECKED},
    "recordings": {"robot", "dynamics", "estimation", "untrusted", *CHECKED},
    "reporting": {*("robot", "dynamics", "pose", "estimation", "identification", "untrusted"), *CHECKED},
    "warm_up": {"checks", "dynamics", "errors", "estimation", "robot", "simulation", "untrusted"},
    "annotation": {*("robot", "dynamics", "recordings", "reporting", "warm_up", "untrusted", "__init__"), *CHECKED},
}
BELOW_ROS = set(ARROWS)
ARROWS["__init__"] = set()
ARROWS["nodes"] = BELOW_ROS - {"symbolic", "codegen", "identification", "annotation"} | {"__init__"}
ARROWS["cli"] = (BELOW_ROS - {"symbolic"}) | {"__init__"}
# A command may start nodes, but only once it runs: `replay` works where no ROS 2 is installed.
ARROWS_WITHIN_FUNCTIONS = {"cli": {"nodes"}}

ROS_ROOMS = {"nodes"}
# The front door opens without these.
OPTIONAL = {
    *("rclpy", "mujoco", "rosbags", "matplotlib", "pinocchio", "sympy", "clarabel", "viser", "distributed"),
    *("pylibfranka", "panda_py"),
}


class Import(NamedTuple):
    file: Path
    line: int
    module: str
    within_function: bool

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.module}"


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_room(module: str) -> str | None:
    """The room of a dotted name in the package: `NAME.robot.joints` is in robot, `NAME.load_robot` in __init__."""
    package, *rest = module.split(".")
    if package != NAME:
        return None
    inside = rest and ((PACKAGE / rest[0]).is_dir() or (PACKAGE / f"{rest[0]}.py").is_file())
    return rest[0] if inside else "__init__"


def modules_of(node: ast.AST, file: Path) -> Iterator[str]:
    """Dotted names that an import statement asks for; of `from a import b`, b may be a module of its own."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = file.relative_to(ROOT).parts[: -node.level] if node.level else ()
        base = ".".join([*above, *([node.module] if node.module else [])])
        yield from (f"{base}.{alias.name}" for alias in node.names)


def imports_of(file: Path, source: str) -> Iterator[Import]:
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    within = {id(node) for function in functions for node in ast.walk(function)}
    for node in ast.walk(tree):
        for module in modules_of(node, file):
            yield Import(file, getattr(node, "lineno", 0), module, id(node) in within)


def wrong_arrows(file: Path, source: str) -> list[str]:
    """Imports of rooms that the file's room may not know."""
    room = room_of(file)
    if room not in ARROWS:
        return []  # reported by `test_every_room_has_its_place_in_the_table`
    found = []
    for each in imports_of(file, source):
        allowed = ARROWS[room] | {room} | (ARROWS_WITHIN_FUNCTIONS.get(room, set()) if each.within_function else set())
        target = imported_room(each.module)
        if target is not None and target not in allowed:
            found.append(f"{each}: {room} may import {', '.join(sorted(allowed))}")
    return found


def test_every_room_has_its_place_in_the_table():
    assert {room_of(file) for file in FILES} <= set(ARROWS), "say in ARROWS what the new room may import"


def test_imports_follow_the_arrows():
    found = [finding for file in FILES for finding in wrong_arrows(file, file.read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_every_arrow_is_used():
    """A table that allows what nobody does says nothing of the house."""
    used: dict[str, set[str | None]] = {room: set() for room in ARROWS}
    for file in FILES:
        used[room_of(file)] |= {imported_room(each.module) for each in imports_of(file, file.read_text("utf-8"))}
    unused = {room: targets - used[room] for room, targets in ARROWS.items()}
    assert {room: targets for room, targets in unused.items() if targets} == {}


def test_the_arrows_form_no_circle():
    waiting = {room: targets - {"__init__"} for room, targets in ARROWS.items() if room != "__init__"}
    while waiting:
        free = {room for room, targets in waiting.items() if not targets & set(waiting)}
        assert free, f"a circle among {sorted(waiting)}"
        waiting = {room: targets for room, targets in waiting.items() if room not in free}


def test_every_file_states_its_licence():
    assert [file for file in FILES if not file.read_text().startswith("# SPDX-License-Identifier: Apache-2.0\n")] == []


def run_without(blocked: set[str], code: str) -> None:
    """`code` in a fresh interpreter where the `blocked` packages are not to be found."""
    prologue = f"import sys; sys.modules.update(dict.fromkeys({sorted(blocked)!r}))"
    ran([sys.executable, "-c", f"{prologue}\n{code}"], cwd=ROOT)


def test_the_package_opens_without_any_optional_library():
    run_without(OPTIONAL, f"from {NAME} import *; load_robot('panda')")


def test_all_but_the_nodes_load_where_ros_is_not_installed():
    """Whatever the modules import at load time, through however many others."""
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in FILES if room_of(file) not in ROS_ROOMS]
    names = [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]
    run_without({"rclpy"}, "\n".join(f"import {name}" for name in names))


OF_NUMBA = {"numba", "numba.extending"}
"""The public modules of numba; of llvmlite, which it is built on, nothing is used."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_names(source: str) -> Iterator[str]:
    """Names that another library keeps for itself: with an underscore, or in modules of numba that are not public."""
    tree, foreign = ast.parse(source), set[str]()
    ours = {*sys.stdlib_module_names, NAME}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            library, *inside = f"{above}{alias.name}".split(".")
            if library in ours:
                continue
            foreign.add((alias.asname or alias.name).split(".")[0])
            hidden = library == "numba" and (above or f"{alias.name}.") not in {f"{name}." for name in OF_NUMBA}
            if library == "llvmlite" or hidden or any(map(is_private, inside)):
                yield f"{above}{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = node.value
            while isinstance(owner, ast.Attribute | ast.Call):
                owner = owner.func if isinstance(owner, ast.Call) else owner.value
            if isinstance(owner, ast.Name) and owner.id in foreign:
                yield ast.unparse(node)


def test_no_private_name_of_another_library_is_used():
    assert [f"{file.relative_to(ROOT)}: {name}" for file in FILES for name in private_names(file.read_text())] == []
