# SPDX-License-Identifier: Apache-2.0
"""What the package says of itself agrees: package.xml, setup.py, the changelog, what is imported and installed."""

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, parse

import pytest
from launched import NODES
from waiting import ran

import panda_dynamics_ros

ROOT = Path(__file__).resolve().parents[1]
NAME = "panda_dynamics_ros"
# ROS packages by their imports; a package of ours that is not here is a library from PyPI.
ROS = re.compile(r"(rclpy|launch|launch_ros|builtin_interfaces|rcl_interfaces|std_srvs|ament_index_python|\w+_msgs)")
# Imported where it is installed, and only there.
OPTIONAL = {"franka_msgs"}
# With the build type and with numba; llvmlite has no rosdep key of its own.
COME_ALONG = {"setuptools", "llvmlite"}
# rosdep keys of libraries, by what setup.py calls them.
ROSDEP = {"PyYAML": "python3-yaml"}


@pytest.fixture(scope="module")
def manifest():
    return parse(ROOT / "package.xml").getroot()


@pytest.fixture(scope="module")
def arguments():
    """What setup.py hands to setuptools; asked in a fresh process, since setuptools wants to be imported first."""
    ask = "import json, runpy, setuptools; got = {}; setuptools.setup = got.update; runpy.run_path('setup.py')"
    return json.loads(ran([sys.executable, "-c", f"{ask}; print(json.dumps(got))"], cwd=ROOT).stdout)


def declared(manifest: Element, *tags: str) -> set[str]:
    return {str(element.text) for tag in tags for element in manifest.iter(tag)}


def imported(folder: Path) -> Iterator[str]:
    """Packages that the Python files in a folder import, also within functions."""
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.split(".")[0]


def test_the_manifest_is_of_format_3_and_complete(manifest):
    assert (manifest.tag, manifest.get("format")) == ("package", "3")
    assert manifest.findtext("name") == NAME
    assert manifest.findtext("export/build_type") == "ament_python"
    assert manifest.findtext("license") == "Apache-2.0"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").lstrip().startswith("Apache License")
    maintainer = manifest.find("maintainer")
    assert maintainer is not None
    assert "@" in maintainer.get("email", "")


def test_every_ros_package_that_is_imported_is_declared(manifest):
    used = {name for folder in (NAME, "launch") for name in imported(ROOT / folder) if ROS.fullmatch(name)}
    assert {"rclpy", "launch_ros", "sensor_msgs"} <= used
    assert used - OPTIONAL <= declared(manifest, "depend", "exec_depend")


def test_nodes_that_launch_files_start_are_declared(manifest):
    files = [*(ROOT / "launch").glob("*.launch.py"), ROOT / NAME / "nodes" / "launching.py"]
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    packages = set(re.findall(r'package="(\w+)"', text))
    assert {"rviz2", "diagnostic_aggregator"} == packages <= declared(manifest, "depend", "exec_depend")


def test_libraries_are_the_same_for_pip_and_for_rosdep(manifest, arguments):
    libraries = [re.split(r"[<>=!~ ]", requirement)[0] for requirement in arguments["install_requires"]]
    keys = {ROSDEP.get(library, f"python3-{library}") for library in libraries if library not in COME_ALONG}
    assert keys == {key for key in declared(manifest, "depend", "exec_depend") if key.startswith("python3-")}


def test_versions_agree(manifest, arguments):
    changelog = (ROOT / "CHANGELOG.rst").read_text(encoding="utf-8")
    newest = re.search(r"^(\d+\.\d+\.\d+)(?: \(.+\))?\n-{5,}$", changelog, re.MULTILINE)
    assert newest is not None, "a section as catkin's tools expect it: 1.2.3 (date), underlined"
    versions = {manifest.findtext("version"), arguments["version"], panda_dynamics_ros.__version__, newest[1]}
    assert len(versions) == 1, versions


def test_a_node_computes_with_one_thread():
    """However its process is started: OpenBLAS reads this once, as NumPy is imported."""
    program = f"import {NAME}.nodes, os, sys; print(os.environ['OPENBLAS_NUM_THREADS'], 'numpy' in sys.modules)"
    inherited = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    assert ran([sys.executable, "-c", program], cwd=ROOT, env=inherited).stdout == "1 False\n"


def test_entry_points_resolve(arguments):
    scripts = dict(entry.split(" = ") for entry in arguments["entry_points"]["console_scripts"])
    assert set(scripts) == {*NODES, "panda-dynamics"}
    for target in scripts.values():
        module, _, function = target.partition(":")
        file = ROOT / Path(*module.split("."))
        source = (file / "__init__.py" if file.is_dir() else file.with_suffix(".py")).read_text(encoding="utf-8")
        functions = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
        assert function in functions, target
        if ".nodes." not in module:  # those import ROS 2
            assert callable(getattr(importlib.import_module(module), function))


def test_every_file_that_users_start_or_read_is_installed(arguments):
    installed = {file for _, files in arguments["data_files"] for file in files}
    for folder in ("launch", "config"):
        files = {f"{folder}/{file.name}" for file in (ROOT / folder).iterdir() if file.is_file()}
        assert files and files <= installed
    assert {f"resource/{NAME}", "package.xml"} <= installed
    data = {path for ending in ("*.yaml", "*.csv.gz", "*.xml", "*.pyi") for path in (ROOT / NAME).rglob(ending)} | {
        ROOT / NAME / "py.typed"
    }
    patterns = arguments["package_data"].items()
    packed = {path for name, globs in patterns for each in globs for path in (ROOT / name.replace(".", "/")).glob(each)}
    assert packed == data


def test_make_names_the_package_that_a_fresh_machine_lacks(tmp_path):
    """Debian's python3 has neither ensurepip nor, without it, a virtual environment."""
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    python.chmod(0o755)
    command = ["make", "demo", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    assert "apt install python3-venv" in done.stdout
