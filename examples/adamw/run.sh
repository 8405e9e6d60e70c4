#!/usr/bin/env bash
# adamw.mlir from the command line; the program train_adamw, which tests run as well, trains with it.
set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
. ../check.sh

one_launch() { [ "$(heddle explain adamw.mlir --json | grep -c '^  "launches": 1,$')" = 1 ]; }
checksums() { heddle run "$1" --steps 20 --json | grep '"checksum"'; }
same_numbers() { [ -n "$(checksums adamw)" ] && [ "$(checksums adamw.mlir)" = "$(checksums adamw)" ]; }

check "one launch per step" one_launch
check "holds against the reference" heddle run adamw.mlir --steps 10 --check
check "same numbers as the standard program" same_numbers
exit "$code"
