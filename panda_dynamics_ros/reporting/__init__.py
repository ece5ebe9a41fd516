# SPDX-License-Identifier: Apache-2.0
"""What a person or a program gets to see of a run: live tables, pictures, summary.json."""
