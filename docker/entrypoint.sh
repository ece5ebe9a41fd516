#!/usr/bin/env bash
set -e
# shellcheck disable=SC1091
source /workspace/install/setup.bash
exec "$@"
