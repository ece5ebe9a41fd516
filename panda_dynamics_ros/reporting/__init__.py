# SPDX-License-Identifier: Apache-2.0
"""What a recording shows, by the pipeline of the nodes, and how a person or a program gets to see it."""
