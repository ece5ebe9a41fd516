# SPDX-License-Identifier: Apache-2.0
"""Compiled building blocks: the compiler and its cache, three-vectors, small linear algebra, eight states at a time."""
