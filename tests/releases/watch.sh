#!/usr/bin/env bash
# Says what changed between two releases of torch, from PyPI's wheels: watch.py has the rest.
#   tests/releases/watch.sh [--store] BEFORE AFTER      e.g. 2.14.1 2.15.0
# Exits 0 if nothing is to be decided, 1 if something is, 2 for a wrong call or a wheel that is not there.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PYTHON=$HERE/../../.venv/bin/python
[ -x "$PYTHON" ] || PYTHON=${PYTHON3:-python3}
exec "$PYTHON" "$HERE/watch.py" "$@"
