# SPDX-License-Identifier: Apache-2.0
"""A recorded bag played into both nodes (the bag player needs no rosbag2).

ros2 launch panda_dynamics_ros replay.launch.py bag:=recording.mcap rate:=2.0

Ends with the recording; a recording that cannot be played ends it with exit code 1.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, EmitEvent, IncludeLaunchDescription, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

PACKAGE = "panda_dynamics_ros"
ARGUMENTS = [
    DeclareLaunchArgument("bag", description="A rosbag2 recording: .db3, .mcap or its folder."),
    DeclareLaunchArgument("rate", default_value="1.0", description="Speed of playing, times real time."),
    DeclareLaunchArgument(
        "loop", default_value="false", choices=["true", "false"], description="Start again at the end."
    ),
]


def at_the_end(event, context):
    if event.returncode:
        # The one way to an exit code of `ros2 launch` that a script sees.
        raise RuntimeError(f"the recording was not played: bag_player ended with exit code {event.returncode}")
    return [EmitEvent(event=Shutdown(reason="the recording has been played"))]


def generate_launch_description():
    # First of all, since its arguments are also the player's.
    nodes = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(PathJoinSubstitution([FindPackageShare(PACKAGE), "launch", "dynamics.launch.py"]))
    )
    player = Node(
        package=PACKAGE,
        executable="bag_player",
        name="bag_player",
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        parameters=[
            LaunchConfiguration("params_file"),
            {
                "bag": ParameterValue(LaunchConfiguration("bag"), value_type=str),
                "rate": ParameterValue(LaunchConfiguration("rate"), value_type=float),
                "loop": ParameterValue(LaunchConfiguration("loop"), value_type=bool),
                "clock": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool),
                "wait_for_subscribers": 2,  # both nodes
            },
        ],
        remappings=[("joint_states", LaunchConfiguration("joint_states_topic"))],
        ros_arguments=["--log-level", LaunchConfiguration("log_level")],
    )
    ending = RegisterEventHandler(OnProcessExit(target_action=player, on_exit=at_the_end))
    return LaunchDescription([*ARGUMENTS, nodes, player, ending])
