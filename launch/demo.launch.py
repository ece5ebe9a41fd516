# SPDX-License-Identifier: Apache-2.0
"""A simulated Panda that picks a payload up and puts it down, with both nodes on it.

ros2 launch panda_dynamics_ros demo.launch.py payload_mass:=0.5 rviz:=true

It publishes where a real robot does: on `joint_states_topic`.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

PACKAGE = "panda_dynamics_ros"
ARGUMENTS = [
    DeclareLaunchArgument("payload_mass", default_value="1.0", description="Mass that is picked up, kg."),
    DeclareLaunchArgument("seed", default_value="0", description="Seed of the simulated arm's imperfections."),
]


def generate_launch_description():
    # First of all, since its arguments are also the simulated arm's.
    nodes = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(PathJoinSubstitution([FindPackageShare(PACKAGE), "launch", "dynamics.launch.py"]))
    )
    simulated = Node(
        package=PACKAGE,
        executable="simulated_panda",
        name="simulated_panda",
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        parameters=[
            LaunchConfiguration("params_file"),
            {
                "robot": ParameterValue(LaunchConfiguration("robot"), value_type=str),
                "payload_mass_kg": ParameterValue(LaunchConfiguration("payload_mass"), value_type=float),
                "seed": ParameterValue(LaunchConfiguration("seed"), value_type=int),
            },
        ],
        remappings=[("joint_states", LaunchConfiguration("joint_states_topic"))],
        ros_arguments=["--log-level", LaunchConfiguration("log_level")],
    )
    return LaunchDescription([*ARGUMENTS, nodes, simulated])
