#!/usr/bin/env bash
# Builds the shim for versions of torch, runs its tests with each, and stores the counts (--help).
#   tests/versions.sh [--smoke] [--suites] [--keep] VERSION[=ENVIRONMENT]…    e.g. 2.10.0 2.15.0=~/venv
#   tests/versions.sh --newest [VERSION=ENVIRONMENT]…    the newest torch, and what changed in it
#   tests/versions.sh --check    which stored figures are older than the code
# PYTHON: the interpreter of the environments (default python3).
# Ends with one table; exits 1 if anything failed or needs a decision, 2 for wrong usage. Not in CI.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/releases/versions.py" "$@"
