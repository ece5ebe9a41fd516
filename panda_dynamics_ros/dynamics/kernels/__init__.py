# SPDX-License-Identifier: Apache-2.0
"""Compiled building blocks: the compiler and its cache, three-vectors, small linear algebra, blocks of states.

numba reads `.numba_config.yaml` in whatever folder a process works in, at its import and before each compilation,
where PyYAML can be imported. The file may name a folder of machine code, which would be run as it is found. So numba is
imported here, where it finds no PyYAML: it is configured by the environment alone.
"""

import sys
import warnings

warnings.filterwarnings("ignore", "A Numba config file is found")  # which numba says where it cannot read the file
if "numba" not in sys.modules:
    _yaml = sys.modules.get("yaml")
    sys.modules["yaml"] = None  # type: ignore[assignment]  # for a thread that imports it just now, too
    try:
        import numba  # noqa: F401
    finally:
        del sys.modules["yaml"]
        if _yaml is not None:
            sys.modules["yaml"] = _yaml
