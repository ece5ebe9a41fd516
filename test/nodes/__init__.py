# SPDX-License-Identifier: Apache-2.0
"""Real nodes over real topics: each test starts processes and talks to them as any other ROS program would."""
