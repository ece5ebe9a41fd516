# SPDX-License-Identifier: Apache-2.0
"""A live robot: the dynamics and payload nodes on its joint states, RViz if asked for.

ros2 launch panda_dynamics_ros dynamics.launch.py joint_states_topic:=franka/joint_states
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

PACKAGE = "panda_dynamics_ros"


def share(*path):
    return PathJoinSubstitution([FindPackageShare(PACKAGE), *path])


ARGUMENTS = [
    DeclareLaunchArgument("robot", default_value="panda", description="panda, panda_ledezma, fr3 or a YAML file."),
    DeclareLaunchArgument("namespace", default_value="", description="Namespace of the nodes (one per arm)."),
    DeclareLaunchArgument(
        "arm_prefix", default_value="", description="Prefix of the joint names where several arms share one topic."
    ),
    DeclareLaunchArgument(
        "joint_states_topic",
        default_value="franka/joint_states",
        description="Joint states with effort at 1 kHz; /joint_states of franka_ros2 is a 30 Hz republication.",
    ),
    DeclareLaunchArgument(
        "params_file", default_value=share("config", "parameters.yaml"), description="Parameters of both nodes."
    ),
    DeclareLaunchArgument("use_sim_time", default_value="false", description="Take time from /clock."),
    DeclareLaunchArgument("rviz", default_value="false", description="Open RViz with the package's layout."),
    DeclareLaunchArgument("log_level", default_value="info", description="debug, info, warn, error or fatal."),
]


def node(executable, name):
    return Node(
        package=PACKAGE,
        executable=executable,
        name=name,
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        parameters=[
            LaunchConfiguration("params_file"),
            {
                "robot": LaunchConfiguration("robot"),
                "arm_prefix": ParameterValue(LaunchConfiguration("arm_prefix"), value_type=str),
                "use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool),
            },
        ],
        remappings=[("joint_states", LaunchConfiguration("joint_states_topic"))],
        arguments=["--ros-args", "--log-level", LaunchConfiguration("log_level")],
    )


def generate_launch_description():
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        namespace=LaunchConfiguration("namespace"),
        arguments=["-d", share("config", "panda_dynamics.rviz")],
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    return LaunchDescription(
        [*ARGUMENTS, node("dynamics", "panda_dynamics"), node("payload_estimator", "payload_estimator"), rviz]
    )
