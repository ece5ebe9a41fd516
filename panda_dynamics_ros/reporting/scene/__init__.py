# SPDX-License-Identifier: Apache-2.0
"""The arm, its torques, its payload and contacts as coloured primitives in the arm's frames.

A scene is made here, and drawn as RViz markers (`nodes/`), in a web page or as a picture (`reporting/`).
"""

from panda_dynamics_ros.reporting.scene.scene import ArmScene, Scene

__all__ = ["ArmScene", "Scene"]
