# SPDX-License-Identifier: Apache-2.0
"""Both nodes on a robot's 1 kHz: what is lost, how late the answers are, what it costs.

Four processes: a publisher paced by the clock, the two nodes as users start them, and a listener that looks at the
topics fifty times a second. Times are taken where they cannot be distorted: the sample's when it is handed to
DDS, the answer's by DDS itself when the node publishes it (its source timestamp).
"""
