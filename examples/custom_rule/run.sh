#!/usr/bin/env bash
# Lion as foreach IR: one launch that moves 20 bytes per element, and numbers that hold against the reference.
set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
. ../check.sh

# Counted, not searched with grep -q, which would end heddle's output early.
explained() { [ "$(heddle explain lion.mlir --shapes ../shapes/models.json:resnet50 --json | grep -c "^  \"$1\": $2,\?$")" = 1 ]; }
text_has() { [ "$(heddle emit lion.mlir --stage "$1" | grep -cF "$2")" = 1 ]; }

check "one launch per step" explained launches 1
check "one sweep" explained sweeps 1
check "20 bytes per element" explained bytes_per_element 20
check "one kernel in the plan" text_has plan '"kind": "kernel"'
check "the sign is taken in the CUDA text" text_has cuda 'heddle::sign(mix)'
check "holds against the reference" heddle run lion.mlir --steps 10 --check
check "holds with weight decay" heddle run lion.mlir --steps 10 --set weight_decay=0.1 --set lr=0.01 --check
exit "$code"
