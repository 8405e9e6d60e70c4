#!/usr/bin/env bash
# Unpacks the bundle heddle.tar.xz next to this script and runs a command in it. The GPU machine needs no LLVM.
#
#   run.sh test [GTEST ARGUMENTS]     run every GPU test binary
#   run.sh sanitize [GTEST ARGUMENTS] run them under compute-sanitizer (memcheck, synccheck); skips LargeTest (9 GB)
#                                     and InjectionTest (failure injection)
#   run.sh python [PYTEST ARGUMENTS]  run the tests of heddle.optim, heddle.ot and rules; needs PyTorch, pytest, expecttest
#   run.sh bench [BENCH ARGUMENTS]    run 'heddle bench' (default: optimizers)
#   run.sh COMMAND ...                run any command in the bundle, with its bin/ on the PATH
#
# Each bundle is unpacked once, into $HEDDLE_BUNDLE or heddle-bundle next to this script.
set -u -o pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
bundle="${HEDDLE_BUNDLE:-$here/heddle-bundle}"
archive="$here/heddle.tar.xz"

stamp="$(stat -c '%s %Y' "$archive")" || exit 1
if [ "$(cat "$bundle/.archive" 2>/dev/null)" != "$stamp" ]; then
  rm -rf "$bundle" && mkdir -p "$bundle" || exit 1
  # Without xz, Python unpacks the archive.
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
  # compute-sanitizer may be in the CUDA toolkit only.
  sanitizer="$(PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:${CUDA_HOME:-/usr/local/cuda}/compute-sanitizer" command -v compute-sanitizer)" || {
    echo "run.sh: compute-sanitizer not found on the PATH or in CUDA_HOME; install the CUDA toolkit" >&2
    exit 1
  }
  [ $# -gt 0 ] || set -- --gtest_filter=-LargeTest.*:InjectionTest.*
  code=0
  for tool in memcheck synccheck; do
    for binary in bin/heddle_gpu*_tests; do
      printf '== %s, %s\n' "$tool" "${binary#bin/}"
      "$sanitizer" --tool "$tool" --error-exitcode 1 "$binary" "$@" || code=1
    done
  done
  exit "$code"
  ;;
python)
  shift
  # The tests of an example need the pages and the examples of a checkout.
  mapfile -t files < <(ls test/python/test_{optim,ot,rule}_*.py test/python/test_fast.py | grep -v _example)
  exec python3 -m pytest -q -p no:cacheprovider "$@" "${files[@]}"
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
