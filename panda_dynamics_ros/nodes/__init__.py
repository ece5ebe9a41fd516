# SPDX-License-Identifier: Apache-2.0
"""Thin rclpy nodes: convert a message, call the core, convert, publish.

A node is a process that imports this package before NumPy.
"""

import os

# The matrices of a node are small. A thread of OpenBLAS that waits for another one spins; where as many processes do so
# as there are cores, Linux was seen to run none of those waited for: two nodes that started at once hung in an eigh.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Fast DDS would take settings, such as whom to talk to, from the working folder. FASTRTPS_DEFAULT_PROFILES_FILE,
# or FASTDDS_DEFAULT_PROFILES_FILE on Kilted, names those of the user.
os.environ.setdefault("SKIP_DEFAULT_XML_FILE", "1")
