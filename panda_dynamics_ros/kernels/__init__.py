# SPDX-License-Identifier: Apache-2.0
"""The old place of `dynamics.kernels`, for `estimation` until it is rewritten."""

import sys

from panda_dynamics_ros.dynamics.kernels import batch, compiled, scratch, small_matrices, vectors

for _module in (batch, compiled, scratch, small_matrices, vectors):
    sys.modules[f"{__name__}.{_module.__name__.rsplit('.', 1)[1]}"] = _module
