# SPDX-License-Identifier: Apache-2.0
"""Packaging for ament_python (colcon) and for pip alike."""

import sys
from pathlib import Path

from setuptools import find_packages, setup

NAME = "panda_dynamics_ros"


# colcon installs all commands into lib/panda_dynamics_ros (setup.cfg), for `ros2 run`; a script in bin puts
# `panda-dynamics` on the PATH. pip, which builds a wheel, puts the command there itself.
BIN = [] if {"bdist_wheel", "editable_wheel"} & set(sys.argv) else ["bin/panda-dynamics"]


def files(pattern: str) -> list[str]:
    return [str(path) for path in sorted(Path().glob(pattern))]


setup(
    name=NAME,
    version="0.1.0",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={
        NAME: ["py.typed", "__init__.pyi"],
        f"{NAME}.robot": ["arms/*.yaml", "end_effectors/*.yaml"],
        f"{NAME}.recordings": ["example.csv.gz"],
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        (f"share/{NAME}/launch", files("launch/*.launch.py")),
        (f"share/{NAME}/config", files("config/*")),
        (f"share/{NAME}/examples", files("examples/*.py")),
        (f"share/{NAME}/examples/torque_listener_cpp", files("examples/torque_listener_cpp/*.*")),
        (f"share/{NAME}/examples/torque_listener_cpp/src", files("examples/torque_listener_cpp/src/*")),
        ("bin", BIN),
    ],
    install_requires=[
        "setuptools",
        "numpy>=1.26,<3",
        "scipy>=1.11,<2",
        "numba>=0.61",
        "PyYAML>=6,<7",
        "rich>=13,<16",
        "matplotlib>=3.6,<4",
        "defusedxml>=0.7,<0.8",
    ],
    extras_require={
        "bags": ["rosbags>=0.11,<0.12"],
        "cluster": ["distributed>=2024.8"],
        "datasets": ["h5py>=3,<4", "pyarrow>=14.0.1,<30"],
        # pylibfranka has no wheels for Python 3.13 yet.
        "fr3": ["pylibfranka>=0.18,<1; python_version<'3.13'"],
        "panda": ["panda-python>=0.8,<2"],
        "docs": ["sphinx>=8.1,<10", "myst-parser>=4,<6", "furo", "sympy>=1.12,<2"],
        "identification": ["clarabel>=0.9,<1"],
        "simulation": ["mujoco>=3.3,<5"],
        "symbolic": ["sympy>=1.12,<2"],
        "view": ["viser>=1.1,<2"],
        "test": [
            "pytest>=7,<9",
            "hypothesis>=6,<7",
            "pytest-xdist>=3,<4",
            "pin>=3,<5",
            "mujoco>=3.3,<5",
            "rosbags>=0.11,<0.12",
            "sympy>=1.12,<2",
            "clarabel>=0.9,<1",
            "viser>=1.1,<2",
            "pylibfranka>=0.18,<1; python_version<'3.13'",
            "panda-python>=0.8,<2",
            "franka-rs>=0.4,<1",
            "franky-control>=2,<3",
            "franky-sim>=1,<2",
            "distributed>=2024.8",
            "h5py>=3,<4",
            "pyarrow>=14.0.1,<30",
        ],
        "colcon": ["colcon-ros", "colcon-package-information"],
        "lint": ["ruff>=0.17,<0.18", "mypy>=2.4,<3", "types-PyYAML", "bandit[toml]>=1.8,<2"],
    },
    python_requires=">=3.10",
    zip_safe=False,
    maintainer="panda_dynamics_ros maintainers",
    maintainer_email="maintainers@panda-dynamics-ros.org",
    description="Online dynamics and payload estimation for the Franka Panda, FER and FR3",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            f"dynamics = {NAME}.nodes.start:main",
            f"payload_estimator = {NAME}.nodes.start:main",
            f"suite = {NAME}.nodes.start:main",
            f"franka_state = {NAME}.nodes.start:main",
            f"simulated_panda = {NAME}.nodes.start:main",
            f"bag_player = {NAME}.nodes.start:main",
            f"panda-dynamics = {NAME}.cli:main",
        ]
    },
)
