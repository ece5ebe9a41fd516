# SPDX-License-Identifier: Apache-2.0
"""What the effort in an arm's joint states is: drivers publish different things under this name."""

MEASURED = "measured"
CURRENT = "current"
WITHOUT_GRAVITY = "without_gravity"
KINDS = (MEASURED, WITHOUT_GRAVITY, "actuator", CURRENT)
"""measured: joint torques on the links, N m, gravity included (Franka's tau_J). without_gravity: torques from which the
driver has subtracted gravity, N m. actuator: torques of the motors at the joints, N m, which accelerate the rotors, too
(simulators, torque commands). current: motor currents, A."""
