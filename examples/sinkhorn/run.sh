#!/usr/bin/env bash
# sinkhorn.mlir from the command line, and the picture that align_points draws.
set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
. ../check.sh
problems=../shapes/problems.json
scratch="$(mktemp -d)" || exit 1
trap 'rm -rf "$scratch"' EXIT

# Counted, not searched with grep -q, which would end heddle's output early.
explained() { [ "$(heddle explain sinkhorn.mlir --shapes "$problems:dense" | grep -cF "$1")" = 1 ]; }
draws() { align_points cpu "$scratch/picture.svg" && [ "$(grep -cE '>(Where the points go|The plan|Convergence)</text>' "$scratch/picture.svg")" = 3 ]; }
is_xml() { python3 -c 'import sys, xml.dom.minidom as xml; xml.parse(sys.argv[1])' "$scratch/picture.svg"; }

check "one read of the matrix per trip" explained "sinkhorn_u1: 4 B per element of 'C' and trip,"
check "one exponential per element and trip" explained "'col' shares the exponentials of 'row'"
check "holds against the reference" heddle run sinkhorn.mlir --shapes "$problems:square" --steps 1 --check
check "holds with a small eps" heddle run sinkhorn.mlir --shapes "$problems:batch" --steps 1 --set eps=0.2 --set limit=20 --check
check "three panels" draws
check "the picture is XML" is_xml
exit "$code"
