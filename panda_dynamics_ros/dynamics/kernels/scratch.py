# SPDX-License-Identifier: Apache-2.0
"""Names that `estimation` uses for workspace."""

import numpy as np

scratch, zeros = np.empty, np.zeros
