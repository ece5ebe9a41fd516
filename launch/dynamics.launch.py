# SPDX-License-Identifier: Apache-2.0
"""A live robot: the dynamics and payload nodes on its joint states, RViz if asked for.

ros2 launch panda_dynamics_ros dynamics.launch.py namespace:=left robot:=fr3

The defaults fit `franka.launch.py` of franka_ros2 with the same `namespace`. Another launch file that includes this
one for several arms puts each inclusion into a GroupAction: launch arguments are then not handed on to the next.
"""

from panda_dynamics_ros.nodes.launching import description, estimators


def generate_launch_description():
    return description(estimators)
