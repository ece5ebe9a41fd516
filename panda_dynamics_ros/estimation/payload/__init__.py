# SPDX-License-Identifier: Apache-2.0
"""The payload on the last link: a Kalman filter, the detection of its changes, and the same from whole recordings."""
