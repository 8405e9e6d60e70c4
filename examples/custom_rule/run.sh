#!/usr/bin/env bash
# Checks Lion as foreach IR: one launch, 20 bytes per element, and results that match the reference.
set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
. ../check.sh

# grep -c rather than grep -q, which closes the pipe before heddle has written its output.
explained() { [ "$(heddle explain lion.mlir --shapes ../shapes/models.json:resnet50 --json | grep -c "^  \"$1\": $2,\?$")" = 1 ]; }
output_has() { [ "$(heddle emit lion.mlir --stage "$1" | grep -cF "$2")" = 1 ]; }

check "one launch per step" explained launches 1
check "one sweep" explained sweeps 1
check "20 bytes per element" explained bytes_per_element 20
check "one kernel in the plan" output_has plan '"kind": "kernel"'
check "the CUDA source takes the sign" output_has cuda 'heddle::sign(mix)'
check "matches the reference" heddle run lion.mlir --steps 10 --check
check "matches with weight decay" heddle run lion.mlir --steps 10 --set weight_decay=0.1 --set lr=0.01 --check
exit "$code"
