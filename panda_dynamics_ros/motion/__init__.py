# SPDX-License-Identifier: Apache-2.0
"""Motions of an arm: Fourier series within its limits, clear of table and base, searched by a score."""
