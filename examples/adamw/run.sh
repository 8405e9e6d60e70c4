#!/usr/bin/env bash
# Checks adamw.mlir from the command line. The program train_adamw, which the tests also run, trains with it.
set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
. ../check.sh

one_launch() { [ "$(heddle explain adamw.mlir --json | grep -c '^  "launches": 1,$')" = 1 ]; }
checksums() { heddle run "$1" --steps 20 --json | grep '"checksum"'; }
same_checksums() { [ -n "$(checksums adamw)" ] && [ "$(checksums adamw.mlir)" = "$(checksums adamw)" ]; }

check "one launch per step" one_launch
check "matches the reference" heddle run adamw.mlir --steps 10 --check
check "same checksums as the standard program" same_checksums
exit "$code"
