# SPDX-License-Identifier: Apache-2.0
"""What nodes import and the kernels that they need, for processes that are forked from one that has both."""

import importlib.util

from panda_dynamics_ros.warm_up import warm_up

for module in ("suite", "bag_player", "franka_state", "simulated_panda"):
    importlib.import_module(f"panda_dynamics_ros.nodes.{module}")
warm_up("suite", *(["simulated_panda"] if importlib.util.find_spec("mujoco") else []), report=print)
