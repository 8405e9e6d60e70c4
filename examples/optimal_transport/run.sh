#!/usr/bin/env bash
# Runs colour_transfer.py, which checks its own results.
set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
. ../check.sh
bin="${HEDDLE_BIN:-$PWD/../../build/bin}"
python="$bin/../venv/bin/python"
[ -x "$python" ] || python=python3
export PYTHONPATH="$PWD/../../python${PYTHONPATH:+:$PYTHONPATH}" HEDDLE_LIBRARY="${HEDDLE_LIBRARY:-$bin/../lib}"
"$python" -c 'import numpy' 2>/dev/null || { echo "needs NumPy"; exit 77; }
scratch="$(mktemp -d)" || exit 1
trap 'rm -rf "$scratch"' EXIT

check "colours are transferred" "$python" colour_transfer.py "$scratch/colours.png"
exit "$code"
