# SPDX-License-Identifier: Apache-2.0
"""`python -m panda_dynamics_ros.cli` is `panda-dynamics`."""

import sys

from panda_dynamics_ros.cli import main

sys.exit(main())
