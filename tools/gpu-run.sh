#!/usr/bin/env bash
# Unpacks heddle.tar.xz beside this script and runs something out of it on a GPU machine: no LLVM, no build there.
#
#   run.sh test [GTEST ARGUMENTS]     every GPU test binary
#   run.sh sanitize [GTEST ARGUMENTS] the same under compute-sanitizer's memcheck and synccheck, without what takes 9 GB
#   run.sh bench [BENCH ARGUMENTS]    heddle bench optimizers by default
#   run.sh COMMAND ...                any command, with the bundle's bin/ on the PATH, run in the bundle
#
# The bundle is unpacked into $HEDDLE_BUNDLE, or heddle-bundle beside this script, once for each archive.
set -u -o pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
bundle="${HEDDLE_BUNDLE:-$here/heddle-bundle}"
archive="$here/heddle.tar.xz"

stamp="$(stat -c '%s %Y' "$archive")" || exit 1
if [ "$(cat "$bundle/.archive" 2>/dev/null)" != "$stamp" ]; then
  rm -rf "$bundle" && mkdir -p "$bundle" || exit 1
  # Python unpacks it where there is no xz.
  if command -v xz >/dev/null; then
    tar -C "$bundle" -xJf "$archive" || exit 1
  else
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$archive" "$bundle" || exit 1
  fi
  printf '%s\n' "$stamp" >"$bundle/.archive"
fi
cd "$bundle" || exit 1
export PATH="$bundle/bin:$PATH" LD_LIBRARY_PATH="$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PYTHONPATH="$bundle/python${PYTHONPATH:+:$PYTHONPATH}" HEDDLE_LIBRARY="$bundle/lib/libheddle.so"

case "${1:-}" in
test)
  shift
  code=0
  for binary in bin/heddle_gpu*_tests; do
    "$binary" "$@" || code=1
  done
  exit "$code"
  ;;
sanitize)
  shift
  # In a toolkit, where it is not on the PATH.
  sanitizer="$(PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:${CUDA_HOME:-/usr/local/cuda}/compute-sanitizer" command -v compute-sanitizer)" || {
    echo "run.sh: compute-sanitizer, of the CUDA toolkit, was not found on the PATH or in CUDA_HOME" >&2
    exit 1
  }
  [ $# -gt 0 ] || set -- --gtest_filter=-LargeTest.*
  code=0
  for tool in memcheck synccheck; do
    for binary in bin/heddle_gpu*_tests; do
      printf '== %s, %s\n' "$tool" "${binary#bin/}"
      "$sanitizer" --tool "$tool" --error-exitcode 1 "$binary" "$@" || code=1
    done
  done
  exit "$code"
  ;;
bench)
  shift
  [ $# -gt 0 ] || set -- optimizers
  exec bin/heddle bench "$@"
  ;;
"")
  sed -n '2,10p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'
  exit 2
  ;;
*) exec "$@" ;;
esac
