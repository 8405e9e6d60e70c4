# Sourced by the run.sh of every example: finds heddle, and runs checks. Scripts end with `exit "$code"`.
export PATH="${HEDDLE_BIN:-$PWD/../../build/bin}:$PATH"
code=0

# check NAME COMMAND...: one line, and what the command printed where it failed.
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
