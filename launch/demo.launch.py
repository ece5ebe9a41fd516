# SPDX-License-Identifier: Apache-2.0
"""A simulated Panda that picks a payload up and puts it down, with both nodes on it.

ros2 launch panda_dynamics_ros demo.launch.py payload_mass:=0.5 rviz:=true
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

PACKAGE = "panda_dynamics_ros"


def generate_launch_description():
    arguments = [
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of all nodes."),
        DeclareLaunchArgument("payload_mass", default_value="1.0", description="Mass that is picked up, kg."),
        DeclareLaunchArgument("seed", default_value="0", description="Seed of the simulated arm's imperfections."),
        DeclareLaunchArgument("rviz", default_value="false", description="Open RViz with the package's layout."),
        DeclareLaunchArgument("log_level", default_value="info", description="debug, info, warn, error or fatal."),
    ]
    simulated = Node(
        package=PACKAGE,
        executable="simulated_panda",
        name="simulated_panda",
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        parameters=[
            PathJoinSubstitution([FindPackageShare(PACKAGE), "config", "parameters.yaml"]),
            {
                "payload_mass_kg": ParameterValue(LaunchConfiguration("payload_mass"), value_type=float),
                "seed": ParameterValue(LaunchConfiguration("seed"), value_type=int),
            },
        ],
        arguments=["--ros-args", "--log-level", LaunchConfiguration("log_level")],
    )
    nodes = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(
            PathJoinSubstitution([FindPackageShare(PACKAGE), "launch", "dynamics.launch.py"])
        ),
        launch_arguments={
            "namespace": LaunchConfiguration("namespace"),
            "joint_states_topic": "joint_states",
            "rviz": LaunchConfiguration("rviz"),
            "log_level": LaunchConfiguration("log_level"),
        }.items(),
    )
    return LaunchDescription([*arguments, simulated, nodes])
