# SPDX-License-Identifier: Apache-2.0
"""Measurements that are no tests: how accurate, how fast."""
