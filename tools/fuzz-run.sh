#!/usr/bin/env bash
# Unpacks the bundle heddle-fuzz.tar.xz next to this script and runs fuzz-run.py in it, which describes the arguments:
# run.sh SECONDS OUT [CORES] [--targets NAMES]. The machine needs neither LLVM nor a network. If corpus.tar.xz of an
# earlier run is next to this script, its inputs are seeds, too.
set -u -o pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)" || exit 1
bundle="$(mktemp -d "${TMPDIR:-/tmp}/heddle-fuzz-bundle-XXXXXX")" || exit 1
trap 'rm -rf "$bundle"' EXIT
# Python unpacks the archives, because the machine may have no xz. Some builds of Python lack lzma.
python=python3
python3 -c 'import lzma' 2>/dev/null || python=/usr/bin/python3
unpack() { "$python" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$@"; }
unpack "$here/heddle-fuzz.tar.xz" "$bundle" || exit 1
[ ! -f "$here/corpus.tar.xz" ] || unpack "$here/corpus.tar.xz" "$bundle/corpus" || exit 1
if [[ "${1:-}" =~ ^[0-9]+$ ]]; then
  left=$(($1 - SECONDS)) # unpacking took some seconds
  shift
  set -- "$left" "$@"
fi
"$python" "$bundle/fuzz-run.py" "$@"
