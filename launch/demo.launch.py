# SPDX-License-Identifier: Apache-2.0
"""A simulated Panda that picks a payload up and puts it down, with both nodes on it.

ros2 launch panda_dynamics_ros demo.launch.py payload_mass:=0.5 rviz:=true

It publishes where a real robot does: on `joint_states_topic`. With `use_sim_time:=true` it publishes /clock, too.
"""

from panda_dynamics_ros.nodes.launching import (
    argument,
    arm_parameters,
    description,
    estimators,
    given,
    package_node,
    source_parameters,
)

ARGUMENTS = [
    argument("payload_mass", "Mass that is picked up, kg; empty: as in params_file, else 1 kg."),
    argument("seed", "Seed of the simulated arm's imperfections; empty: as in params_file, else 0."),
]


def start(context):
    parameters = {
        **arm_parameters(context),
        **given(context, {"seed": int, "payload_mass": float}, names={"payload_mass": "payload_mass_kg"}),
        **source_parameters(context),
    }
    simulated = package_node(context, "simulated_panda", "simulated_panda", parameters)
    return [*estimators(context), simulated]


def generate_launch_description():
    return description(start, ARGUMENTS)
