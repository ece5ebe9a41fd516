# SPDX-License-Identifier: Apache-2.0
"""A recorded bag played into both nodes (the bag player needs no rosbag2).

ros2 launch panda_dynamics_ros replay.launch.py bag:=recording.mcap rate:=2.0
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


def generate_launch_description():
    arguments = [
        DeclareLaunchArgument("bag", description="A rosbag2 recording: .db3, .mcap or its folder."),
        DeclareLaunchArgument("rate", default_value="1.0", description="Speed of playing, times real time."),
        DeclareLaunchArgument("loop", default_value="false", description="Start again at the end."),
        DeclareLaunchArgument("robot", default_value="panda", description="panda, panda_ledezma, fr3 or a YAML file."),
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of all nodes."),
        DeclareLaunchArgument("rviz", default_value="false", description="Open RViz with the package's layout."),
        DeclareLaunchArgument("log_level", default_value="info", description="debug, info, warn, error or fatal."),
    ]
    player = Node(
        package=PACKAGE,
        executable="bag_player",
        name="bag_player",
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        parameters=[
            {
                "bag": ParameterValue(LaunchConfiguration("bag"), value_type=str),
                "rate": ParameterValue(LaunchConfiguration("rate"), value_type=float),
                "loop": ParameterValue(LaunchConfiguration("loop"), value_type=bool),
            }
        ],
        arguments=["--ros-args", "--log-level", LaunchConfiguration("log_level")],
    )
    nodes = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([FindPackageShare(PACKAGE), "launch", "dynamics.launch.py"])
        ),
        launch_arguments={
            "robot": LaunchConfiguration("robot"),
            "namespace": LaunchConfiguration("namespace"),
            "joint_states_topic": "joint_states",
            "rviz": LaunchConfiguration("rviz"),
            "log_level": LaunchConfiguration("log_level"),
        }.items(),
    )
    at_the_end = RegisterEventHandler(
        OnProcessExit(target_action=player, on_exit=[EmitEvent(event=Shutdown(reason="the bag has been played"))])
    )
    return LaunchDescription([*arguments, player, nodes, at_the_end])
