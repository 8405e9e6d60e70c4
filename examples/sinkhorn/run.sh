#!/usr/bin/env bash
# Checks sinkhorn.mlir from the command line, and the picture of align_points.
set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1
. ../check.sh
problems=../shapes/problems.json
scratch="$(mktemp -d)" || exit 1
trap 'rm -rf "$scratch"' EXIT

# grep -c rather than grep -q, which closes the pipe before heddle has written its output.
explained() { [ "$(heddle explain sinkhorn.mlir --shapes "$problems:dense" | grep -cF "$1")" = 1 ]; }
draws() { align_points cpu "$scratch/picture.svg" && [ "$(grep -cE '>(Where the points go|The plan|Convergence)</text>' "$scratch/picture.svg")" = 3 ]; }
is_xml() { python3 -c 'import sys, xml.dom.minidom as xml; xml.parse(sys.argv[1])' "$scratch/picture.svg"; }

check "one read of the matrix per iteration" explained "sinkhorn_u1: 4 B per element of 'C' and iteration,"
check "one exponential per element and iteration" explained "'col' shares the exponentials of 'row'"
check "matches the reference" heddle run sinkhorn.mlir --shapes "$problems:square" --steps 1 --check
check "matches with a small eps" heddle run sinkhorn.mlir --shapes "$problems:batch" --steps 1 --set eps=0.2 --set limit=20 --check
check "three plots" draws
check "the picture is XML" is_xml
exit "$code"
