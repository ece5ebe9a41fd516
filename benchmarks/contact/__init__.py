# SPDX-License-Identifier: Apache-2.0
"""How soon contacts are detected, how often nothing is taken for one, and whether the right link is named."""
