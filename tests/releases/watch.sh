#!/usr/bin/env bash
# Says what changed between two releases of torch, from PyPI's wheels: watch.py has the rest.
#   tests/releases/watch.sh [--store] BEFORE AFTER      e.g. 2.14.1 2.15.0
# Exits 0 if nothing is to be decided, 1 if something is, 2 if that cannot be said.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
PYTHON=$HERE/../../.venv/bin/python
[ -x "$PYTHON" ] || PYTHON=python3
"$PYTHON" -c "import numpy, yaml" 2>/dev/null || { echo "$PYTHON has no numpy or PyYAML: ./bootstrap.sh test makes .venv" >&2; exit 2; }
exec "$PYTHON" "$HERE/watch.py" "$@"
