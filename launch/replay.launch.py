# SPDX-License-Identifier: Apache-2.0
"""A recorded bag played into both nodes (the bag player needs no rosbag2).

ros2 launch panda_dynamics_ros replay.launch.py bag:=recording.mcap rate:=2.0

Ends with the recording; a recording that cannot be played ends it with exit code 1.
"""

from launch.actions import Shutdown

from panda_dynamics_ros.nodes.launching import (
    SWITCH,
    argument,
    description,
    estimators,
    given,
    package_node,
    source_parameters,
)

ARGUMENTS = [
    argument("bag", "A rosbag2 recording: .db3, .mcap or its folder.", None),
    argument("topic", "The recorded topic; empty: the one with joint states."),
    argument("rate", "Speed of playing, times real time; empty: as in params_file, else 1."),
    argument("loop", "Start again at the end.", choices=SWITCH),
]


def at_the_end(event, context):
    if event.returncode and not context.is_shutdown:
        # An exception is the one way to an exit code of `ros2 launch` that a script sees.
        raise RuntimeError(f"the recording was not played: bag_player ended with exit code {event.returncode}")
    return Shutdown(reason="the recording has been played")


def start(context):
    own = given(context, {"bag": str, "topic": str, "rate": float, "loop": bool})
    player = package_node(context, "bag_player", "bag_player", own | source_parameters(context), on_exit=at_the_end)
    return [*estimators(context), player]


def generate_launch_description():
    return description(start, ARGUMENTS)
