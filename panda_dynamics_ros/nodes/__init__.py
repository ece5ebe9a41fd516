# SPDX-License-Identifier: Apache-2.0
"""Thin rclpy nodes: convert a message, call the core, convert, publish."""
