#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds franka_msgs/SetLoad and FrankaRobotState from a checkout of franka_ros2, with the generators that PyPI has as
# wheels, and runs test_apply_load.py with them: build_franka_msgs.sh FRANKA_ROS2 FOLDER (needs cmake and a compiler).
set -euo pipefail
checkout=$(realpath "$1") folder=$(realpath -m "$2") python=${PYTHON:-python3} root=$(realpath "$(dirname "$0")/../..")
mkdir -p "$folder" && cd "$folder"
"$python" -m venv venv
wheels=(rclpy rmw-fastrtps-cpp {sensor,geometry,std,visualization,diagnostic,trajectory}-msgs std-srvs python-cmake-module)
wheels+=(rosidl-{default-generators,core-generators} ament-package ament-cmake ament-cmake-{core,ros,python,vendor-package,version})
wheels+=(ament-cmake-{libraries,include-directories,target-dependencies,test,gtest,gmock,pytest,gen-version-h})
wheels+=(ament-cmake-export-{definitions,dependencies,include-directories,interfaces,libraries,link-flags,targets})
venv/bin/pip install --quiet "${wheels[@]/#/ros-jazzy-}" catkin_pkg "$root[simulation,test]"
# The wheels name the folders of the machine that built them.
venv/bin/python - <<'PYTHON'
import pathlib, re, sysconfig
import numpy
for file in pathlib.Path("venv/share").rglob("*.cmake"):
    text = file.read_text()
    new = re.sub(r"/opt/python/[^;\"]*numpy/_core/include", numpy.get_include(), text)
    new = re.sub(r"/opt/python/[^;\"]*/include/python[\d.]+", sysconfig.get_path("include"), new)
    if new != text:
        file.write_text(new)
PYTHON
cp -r "$checkout/franka_msgs" source
sed -i -E '/"(action\/|msg\/GraspEpsilon|msg\/FrankaState\.|srv\/Set[^L])/d' source/CMakeLists.txt
export PATH=$folder/venv/bin:$PATH AMENT_PREFIX_PATH=$folder/install:$folder/venv LD_LIBRARY_PATH=$folder/install/lib:$folder/venv/lib
cmake -S source -B build -DCMAKE_PREFIX_PATH="$folder/venv" -DCMAKE_INSTALL_PREFIX="$folder/install" \
  -DPython3_EXECUTABLE="$folder/venv/bin/python" -DBUILD_TESTING=OFF > cmake.log
make -C build install > make.log
PYTHONPATH=$root:$folder/$(echo install/lib/python*/site-packages) \
  python -m pytest -rs "$root/test/nodes/test_apply_load.py"
