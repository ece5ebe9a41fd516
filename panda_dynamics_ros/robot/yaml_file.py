# SPDX-License-Identifier: Apache-2.0
"""Robots and end effectors by name or path: the libraries, and users' own files; arms as YAML, read and written."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, asdict, fields, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import yaml

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.errors import ArgumentError, DataError, DataFileNotFoundError, RobotDescriptionError
from panda_dynamics_ros.pose import rigid, rotation_from_rpy
from panda_dynamics_ros.robot.description import GRAVITY, MEASURED, RobotDescription, require_robot
from panda_dynamics_ros.robot.inertial import (
    InertialParameters,
    require_physical,
    six_from_symmetric,
    symmetric_from_six,
)
from panda_dynamics_ros.robot.joints import Friction, JointLimits, ResidualModel
from panda_dynamics_ros.robot.mjcf import parse_mjcf
from panda_dynamics_ros.robot.residual_map import read_residual_map
from panda_dynamics_ros.robot.urdf import LARGEST, arm_of_chain, parse_urdf
from panda_dynamics_ros.untrusted import is_file, read_text, refused, replacing

LIBRARY, EFFECTORS = (Path(__file__).parent / folder for folder in ("arms", "end_effectors"))
LARGEST_YAML = 1 << 20  # bytes: an arm has about 5,000
LONGEST_NUMBER = 1000  # characters; one in sixties, as YAML has them, takes time with the square of its length
YAML, URDF, MJCF = (".yaml", ".yml"), (".urdf",), (".xml",)
REQUIRED = ("name", "joint_names", "inertia_about", "links", "limits", "residual")
TEXTS = {"effort": MEASURED, "base_link": "", "flange_link": ""}
OPTIONAL = (
    *("modified_dh", "placements", "prismatic", "flange", "end_effector", "friction", "gravity", "rotor_inertia"),
    *("motor_constants", "residual_map", *TEXTS),
)

Robot = TypeVar("Robot", bound=RobotDescription)
PerJoint = TypeVar("PerJoint", JointLimits, ResidualModel)


def library_names(library: Path = LIBRARY) -> tuple[str, ...]:
    """Names of the arms that come with the package."""
    return tuple(sorted(path.stem for path in library.glob("*.yaml")))


def read_robot(source: str | Path, model: type[Robot], base: str | None = None, tip: str | None = None) -> Robot:
    """The robot of a library name, of a YAML, URDF or MJCF file, or of a URDF's text, as an instance of `model`.

    base, tip: ends of the chain in a URDF or MJCF file, by default the root and `urdf.Tree.default_tip`.
    Raises ArgumentError: neither a library name nor a path; the message lists the names. `base` or `tip` do not fit.
    Raises DataFileNotFoundError: a path to a file that does not exist.
    Raises RobotDescriptionError: the file cannot be read, is malformed, or a link is not physical; the message names
        the file, and the key or the link.
    """
    is_text = isinstance(source, str) and source.lstrip().startswith("<")
    path = Path("robot_description") if is_text else find_description(source)
    if path.suffix in YAML:
        if (base, tip) != (None, None):
            raise ArgumentError(f"base, tip: expected none for an arm in YAML, got {base}, {tip}")
        with _described_by(path):
            return _robot(read_yaml(path), model, path.parent)
    with _described_by(path):
        is_mjcf = path.suffix in MJCF and "<robot" not in read_text(path, LARGEST)  # MuJoCo would fuse a URDF's links
        tree = parse_mjcf(path) if is_mjcf else parse_urdf(source if is_text else path)
    ends = tree.ends(base, tip)
    with _described_by(path):
        return arm_of_chain(tree, *ends, model)


@contextmanager
def _described_by(path: Path) -> Iterator[None]:
    """What is wrong with a description, as a RobotDescriptionError that names its file."""
    try:
        yield
    except DataError as error:  # which names a file
        raise RobotDescriptionError(str(error)) from error
    except (ArgumentError, RobotDescriptionError) as error:
        raise RobotDescriptionError(f"{path}: {error}") from error


def find_description(
    source: str | Path,
    library: Path = LIBRARY,
    suffixes: tuple[str, ...] = (*YAML, *URDF, *MJCF),
    argument: str = "robot",
    others: tuple[str, ...] = (),
) -> Path:
    """The file of a name in `library` or of a path; `others` are names that the caller deals with.

    The errors are those of `read_robot`.
    """
    name, names = str(source), library_names(library)
    if name in names:
        return library / f"{name}.yaml"
    if name.endswith(".xacro"):
        raise ArgumentError(f"{argument}: expected plain URDF; expand it first: xacro {name} > robot.urdf")
    if not isinstance(source, str | Path) or Path(source).suffix not in suffixes:
        known, endings = ", ".join((*others, *names)), f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise ArgumentError(f"{argument}: expected one of {known} or a path to a {endings} file, got {source!r}")
    path = checks.path(source, argument)
    if not is_file(path):
        raise DataFileNotFoundError(f"{argument}: expected an existing file, got {name!r}")
    return path


class _PlainLoader(yaml.SafeLoader):
    """YAML without what takes any memory or time of a few bytes: aliases, and numbers of many digits."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(f"the alias *{self.peek_event().anchor:.60}: write its value out")
        node = super().compose_node(parent, index)
        if isinstance(node, yaml.MappingNode):
            keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
            if twice := [key for key, count in keys.items() if count > 1]:
                raise yaml.YAMLError(f"the key {twice[0]:.60} twice,{node.start_mark}")
        if isinstance(node, yaml.ScalarNode) and not node.tag.endswith(":str") and len(node.value) > LONGEST_NUMBER:
            raise yaml.YAMLError(f"a number of more than {LONGEST_NUMBER} characters")
        return node


# PyYAML takes 1e-3, which is a number since YAML 1.2, for a word.
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$")
_PlainLoader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+0123456789"))


def read_yaml(path: Path) -> Any:
    """The content of a YAML file; a DataError that names it where it cannot be read."""
    with refused(path, "YAML"):
        return yaml.load(read_text(path, LARGEST_YAML), _PlainLoader)  # nosec B506


def _robot(content: Any, model: type[Robot], folder: Path) -> Robot:
    """The robot of a parsed description in a `folder`; errors name the key, or the link."""
    top = mapping(content, "description", REQUIRED, OPTIONAL)
    names = tuple(str(name) for name in _listed(top["joint_names"], "joint_names"))
    n = len(names)
    prismatic = _listed(top.get("prismatic", [False] * n), "prismatic")
    if not all(isinstance(entry, bool) for entry in prismatic):
        raise RobotDescriptionError(f"prismatic: expected true or false for each joint, got {prismatic!r:.60}")
    links = _listed(top["links"], "links")
    texts: dict[str, Any] = {key: str(top.get(key, default)) for key, default in TEXTS.items()}
    map_name = top.get("residual_map")
    if map_name is not None and (not isinstance(map_name, str) or Path(map_name).name != map_name):
        raise RobotDescriptionError(f"residual_map: expected the name of a file beside this one, got {map_name!r}")
    return model(
        name=str(top["name"]),
        joint_names=names,
        placements=_placements(top, n),
        prismatic=tuple(prismatic),
        links=tuple(body(link, f"link {i}", top["inertia_about"]) for i, link in enumerate(links, start=1)),
        T_joint_flange=transform(top.get("flange", {}), "flange"),
        T_flange_ee=transform(top.get("end_effector", {}), "end_effector"),
        friction=Friction.of(n, **mapping(top.get("friction", {}), "friction")),
        limits=_per_joint(JointLimits, top["limits"], n, "limits"),
        residual=_per_joint(ResidualModel, top["residual"], n, "residual"),
        gravity=checks.exactly(top.get("gravity", GRAVITY), (3,), "gravity"),
        rotor_inertia=checks.exactly(top.get("rotor_inertia", np.zeros(n)), (n,), "rotor_inertia"),
        motor_constants=checks.real_array(top.get("motor_constants", []), "motor_constants"),
        residual_map=None if map_name is None else read_residual_map(folder / map_name),
        **texts,
    )


def modified_dh(a: float, d: float, alpha: float, theta: float) -> FloatArray:
    """Rx(alpha) Tx(a) Rz(theta) Tz(d), T_{i-1}_{i} (4, 4), m, rad: Gautier and Khalil 1988, eq. (1) (document 004)."""
    Rx, Rz = rotation_from_rpy(np.array([[alpha, 0.0, 0.0], [0.0, 0.0, theta]]))
    return rigid(Rx @ Rz, Rx @ [a, 0.0, d])


def _placements(top: Mapping[str, Any], n: int) -> FloatArray:
    """T_{i-1}_{i} at zero position, from modified DH parameters or from explicit matrices."""
    if ("placements" in top) == ("modified_dh" in top):
        both = "both" if "placements" in top else "neither"
        raise RobotDescriptionError(f"description: expected either the key modified_dh or placements, got {both}")
    if "placements" in top:
        return checks.exactly(top["placements"], (n, 4, 4), "placements")
    given = {"theta": np.zeros(n), **mapping(top["modified_dh"], "modified_dh", ("a", "d", "alpha"), ("theta",))}
    columns = (checks.exactly(given[key], (n,), f"modified_dh.{key}") for key in ("a", "d", "alpha", "theta"))
    return np.array([modified_dh(*row) for row in zip(*columns, strict=True)])


def transform(content: Any, name: str) -> FloatArray:
    """A constant (4, 4) transform of an optional rotation (rows) and an optional translation (m)."""
    given = mapping(content, name, (), ("rotation", "translation"))
    rotation = checks.exactly(given.get("rotation", np.eye(3)), (3, 3), f"{name}.rotation")
    translation = checks.exactly(given.get("translation", np.zeros(3)), (3,), f"{name}.translation")
    return rigid(checks.rotation_matrix(rotation, f"{name}.rotation"), translation)


def body(content: Any, name: str, inertia_about: Any) -> InertialParameters:
    """One body, of its centre of mass or first moment, its inertia taken about the CoM or the frame's origin."""
    if inertia_about not in ("com", "origin"):
        raise RobotDescriptionError(f"inertia_about: expected com or origin, got {inertia_about!r}")
    position = "first_moment" if isinstance(content, Mapping) and "first_moment" in content else "com"
    given = mapping(content, name, ("mass", position, "inertia"), ())
    mass = checks.number(given["mass"], f"{name}: mass", minimum=0.0)
    vector = checks.exactly(given[position], (3,), f"{name}: {position}")
    six = checks.exactly(given["inertia"], (6,), f"{name}: inertia")
    first_moment = vector if position == "first_moment" else mass * vector
    try:
        link = InertialParameters.from_vector([mass, *first_moment, *six])
    except ArgumentError as error:
        raise RobotDescriptionError(f"{name}: {error}") from error
    if inertia_about == "com":
        link = InertialParameters(mass, link.com if position == "first_moment" else vector, symmetric_from_six(six))
    return require_physical(link, name)


def mapping(content: Any, name: str, needed: Iterable[str] = (), others: Iterable[str] | None = None) -> dict[str, Any]:
    """`content` by its keys as strings: all that are `needed`, beside them `others` only, by default any."""
    if not isinstance(content, Mapping):
        raise RobotDescriptionError(f"{name}: expected keys with values, got {content!r:.60}")
    given = {str(key): value for key, value in content.items()}
    known = [*needed, *(given if others is None else others)]
    unknown = [key for key in given if key not in known]
    missing = [key for key in needed if key not in given]
    if unknown:
        raise RobotDescriptionError(f"{name}: expected keys among {', '.join(known)}, got {', '.join(unknown)}")
    if missing:
        raise RobotDescriptionError(f"{name}: expected the key {missing[0]}, got {', '.join(given) or 'no key'}")
    return given


def _per_joint(kind: type[PerJoint], content: Any, n: int, name: str) -> PerJoint:
    """A dataclass of (n,) arrays, from a mapping of its fields; those with a default may be missing."""
    required = [each.name for each in fields(kind) if each.default_factory is MISSING]
    given = mapping(content, name, required, [each.name for each in fields(kind) if each.name not in required])
    return kind(**{key: checks.exactly(value, (n,), f"{name}.{key}") for key, value in given.items()})


def _listed(content: Any, name: str) -> list[Any]:
    if not isinstance(content, list):
        raise RobotDescriptionError(f"{name}: expected a list, got {content!r:.60}")
    return content


def write_robot(robot: RobotDescription, path: str | Path, comment: str = "") -> Path:
    """Write `robot` to a .yaml file, whole or not at all, and return the path.

    Placements are written as matrices, numbers with all their digits: a robot that is read back has the same bits. A
    residual map goes to a file beside it, `<name>.residual.npz`, which the YAML file names.

    comment: lines for the head of the file; where the numbers are from, say.
    Raises ArgumentError: `robot` is not a robot, `path` does not end in .yaml or .yml, or cannot be written.
    Raises RobotDescriptionError: a link is not physical, so that it could not be loaded again; the message names it.
    """
    require_robot(robot)
    target = checks.path(path, "path")
    if target.suffix not in YAML:
        raise ArgumentError(f"path: expected a name that ends in .yaml, got {str(path)!r}")
    head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    content = _content(robot)
    try:
        if robot.residual_map is not None:
            map_path = target.with_name(f"{target.stem}.residual.npz")
            with replacing(map_path) as file:
                np.savez(file, **asdict(robot.residual_map))
            content["residual_map"] = map_path.name
        text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=200, allow_unicode=True)
        with replacing(target) as file:
            file.write_text(head + text, encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"path: expected a place to write to, got {str(path)!r}: {error.strerror}") from error
    return target


def _content(robot: RobotDescription) -> dict[str, Any]:
    """The keys that `_robot` reads; optional ones where they say more than their defaults."""
    bodies = [require_physical(link, f"link {i}") for i, link in enumerate(robot.links, start=1)]

    def placement(T: FloatArray) -> dict[str, Any]:
        return {"rotation": T[:3, :3].tolist(), "translation": T[:3, 3].tolist()}

    content = {
        "name": robot.name,
        "joint_names": list(robot.joint_names),
        "gravity": robot.gravity.tolist(),
        "placements": robot.placements.tolist(),
        "prismatic": [bool(sliding) for sliding in robot.prismatic],
        "flange": placement(robot.T_joint_flange),
        "end_effector": placement(robot.T_flange_ee),
        "inertia_about": "com",
        "links": [
            {"mass": link.mass, "com": link.com.tolist(), "inertia": six_from_symmetric(link.inertia).tolist()}
            for link in bodies
        ],
    }
    for key in ("friction", "residual", "limits"):
        content[key] = {name: values.tolist() for name, values in asdict(getattr(robot, key)).items()}
    for key in ("rotor_inertia", "motor_constants"):
        if (values := getattr(robot, key)).any():
            content[key] = values.tolist()
    return content | {key: value for key, default in TEXTS.items() if (value := getattr(robot, key)) != default}


def attach_end_effector(robot: Robot, source: str | Path) -> Robot:
    """The robot with the end effector of a library name or a YAML file; as it is with "none".

    Raises the errors of `read_robot`, of which the ArgumentError names `end_effector`.
    """
    if source == "none":
        return robot
    path = find_description(source, EFFECTORS, YAML, "end_effector", others=("none",))
    with _described_by(path):
        top = mapping(read_yaml(path), "description", ("name", "inertia_about", "bodies"), ("mount", "tool"))
        given = mapping(top["bodies"], "bodies").items()
        bodies = [body(value, f"body {name}", top["inertia_about"]) for name, value in given]
        T_flange_mount, T_mount_ee = (transform(top.get(key, {}), key) for key in ("mount", "tool"))
        whole = (reduce(add, bodies) if bodies else InertialParameters.zero()).transformed(T_flange_mount)
        return attach(robot, str(top["name"]), whole, T_flange_mount @ T_mount_ee)


def attach(robot: Robot, name: str, body: InertialParameters, T_flange_ee: FloatArray) -> Robot:
    """The robot with a body, given in its flange's frame, on its last link, and `ee` at `T_flange_ee` (4, 4)."""
    return replace(robot.with_payload(body).with_end_effector(T_flange_ee), name=f"{robot.name}+{name}")
