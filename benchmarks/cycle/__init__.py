# SPDX-License-Identifier: Apache-2.0
"""Pick-and-place cycles: what the estimator says of objects that are picked up while the arm stands."""
