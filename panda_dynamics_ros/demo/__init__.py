# SPDX-License-Identifier: Apache-2.0
"""The demo without ROS: schedule, child processes, what the nodes published, and the report.

`cli/demo.py` hands in the ROS node that subscribes to the topics (`nodes/demo_monitor.py`).
"""
