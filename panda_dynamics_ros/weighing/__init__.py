# SPDX-License-Identifier: Apache-2.0
"""Weighing: what an arm carries, from runs of one motion with and without it."""
