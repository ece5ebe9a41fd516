# SPDX-License-Identifier: Apache-2.0
"""A live robot: the dynamics and payload nodes on its joint states, RViz if asked for.

ros2 launch panda_dynamics_ros dynamics.launch.py namespace:=left robot:=fr3

The defaults fit `franka.launch.py` of franka_ros2 with the same `namespace`. Another launch file that includes this
one for several arms puts each inclusion into a GroupAction: launch arguments are then not handed on to the next.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

PACKAGE = "panda_dynamics_ros"


def share(*path):
    return PathJoinSubstitution([FindPackageShare(PACKAGE), *path])


ARGUMENTS = [
    DeclareLaunchArgument(
        "robot", default_value="panda", description="The arm: panda, panda_ledezma, fr3 or the path of a YAML file."
    ),
    DeclareLaunchArgument(
        "end_effector",
        default_value="none",
        description="What is mounted for good, and no payload: none, hand or the path of a YAML file.",
    ),
    DeclareLaunchArgument("namespace", default_value="", description="Namespace of all nodes (one per arm)."),
    DeclareLaunchArgument(
        "arm_prefix", default_value="", description="Prefix of the joint names where several arms share one topic."
    ),
    DeclareLaunchArgument(
        "joint_states_topic",
        default_value="franka/joint_states",
        description="Joint states with effort at 1 kHz; /joint_states of franka_ros2 is a 30 Hz republication.",
    ),
    DeclareLaunchArgument(
        "payload_topic",
        default_value="",
        description="Topic of a payload that is not to count as external, such as payload_estimator/payload.",
    ),
    DeclareLaunchArgument(
        "base_frame",
        default_value="",
        description="Frame of poses, wrenches and markers, and RViz's fixed frame; empty: <prefix>link0.",
    ),
    DeclareLaunchArgument(
        "params_file", default_value=share("config", "parameters.yaml"), description="Parameters of the nodes, YAML."
    ),
    DeclareLaunchArgument(
        "use_sim_time", default_value="false", choices=["true", "false"], description="Take time from /clock."
    ),
    DeclareLaunchArgument(
        "rviz", default_value="false", choices=["true", "false"], description="Open RViz with the package's layout."
    ),
    DeclareLaunchArgument(
        "prefix",
        default_value="",
        description="Command before each node's own, such as chrt -f 20 for real-time priority.",
    ),
    DeclareLaunchArgument(
        "log_level",
        default_value="info",
        choices=["debug", "info", "warn", "error", "fatal"],
        description="What the nodes log.",
    ),
]


def node(executable, name, **parameters):
    return Node(
        package=PACKAGE,
        executable=executable,
        name=name,
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        prefix=LaunchConfiguration("prefix"),
        parameters=[
            LaunchConfiguration("params_file"),
            {
                "robot": ParameterValue(LaunchConfiguration("robot"), value_type=str),
                "end_effector": ParameterValue(LaunchConfiguration("end_effector"), value_type=str),
                "arm_prefix": ParameterValue(LaunchConfiguration("arm_prefix"), value_type=str),
                "use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool),
                **parameters,
            },
        ],
        remappings=[("joint_states", LaunchConfiguration("joint_states_topic"))],
        ros_arguments=["--log-level", LaunchConfiguration("log_level")],
    )


def own_base_frame(robot, arm_prefix):
    """The nodes' base frame if the joints turn out to be called as the robot's own are, after arm_prefix."""
    from panda_dynamics_ros import load_robot
    from panda_dynamics_ros.samples.joint_mapping import link_name

    link = link_name(load_robot(robot).joint_names, 0)
    return f"{arm_prefix.rstrip('_')}_{link}" if arm_prefix else link


def start(context):
    base_frame = LaunchConfiguration("base_frame").perform(context)
    payload_topic = LaunchConfiguration("payload_topic").perform(context)
    # Where they are empty, params_file may have them.
    frame = {"base_frame": base_frame} if base_frame else {}
    payload = {"payload_topic": payload_topic} if payload_topic else {}
    actions = [
        node("dynamics", "panda_dynamics", **frame, **payload),
        node("payload_estimator", "payload_estimator", **frame),
    ]
    if LaunchConfiguration("rviz").perform(context) == "true":
        shown = base_frame or own_base_frame(
            LaunchConfiguration("robot").perform(context), LaunchConfiguration("arm_prefix").perform(context)
        )
        actions.append(
            Node(
                package="rviz2",
                executable="rviz2",
                namespace=LaunchConfiguration("namespace"),
                arguments=["-d", share("config", "panda_dynamics.rviz"), "-f", shown],
            )
        )
    return actions


def generate_launch_description():
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start)])
