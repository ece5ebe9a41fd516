# SPDX-License-Identifier: Apache-2.0
"""What there is to see: the arm, its torques, what it carries and touches, as shapes in its frames.

One place makes the shapes; RViz markers (`nodes/`), a web page and pictures (`reporting/`) draw them.
"""

from panda_dynamics_ros.scene.scene import ArmScene, Scene, frame_poses

__all__ = ["ArmScene", "Scene", "frame_poses"]
