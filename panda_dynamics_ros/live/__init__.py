# SPDX-License-Identifier: Apache-2.0
"""A Franka by its IP address: connections through Python bindings of libfranka, read-only."""
