# Sourced by the run.sh of every example: puts heddle on the PATH and defines check. Scripts end with `exit "$code"`.
export PATH="${HEDDLE_BIN:-$PWD/../../build/bin}:$PATH"
code=0

# check NAME COMMAND...: prints one line, and the output of a command that fails.
check() {
  local name="$1" output
  shift
  if output="$("$@" 2>&1)"; then
    printf 'ok %s\n' "$name"
  else
    printf 'FAILED %s: %s\n%s\n' "$name" "$*" "$output"
    code=1
  fi
}
