# SPDX-License-Identifier: Apache-2.0
"""Payloads on arms that nobody has calibrated: what the estimator says where its model is not the arm."""
