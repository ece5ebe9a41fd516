# SPDX-License-Identifier: Apache-2.0
"""What a stream of samples delivers: stamps, gaps, and samples that no arm can have measured."""
