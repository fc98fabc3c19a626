# shellcheck shell=bash
# Steps with names and times, for scripts that source this:
#
#   step NAME COMMAND...   runs it, and ends the script when it fails
#   all_passed             says how long each took, and counts the tests of all runners together
#
# What a step prints is also kept in build/log/NAME.log, below the current folder.
table=()
passed=0 failed=0 skipped=0

# Adds up what a runner says about itself in its closing line (ctest's or pytest's) and prints it
# in short; prints nothing for a step that ran no tests.
count_tests() { # LOG
  local line word
  line=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$1" | tail -n 1)
  if [[ $line =~ ([0-9]+)\ tests?\ failed\ out\ of\ ([0-9]+) ]]; then
    failed=$((failed + BASH_REMATCH[1]))
    passed=$((passed + BASH_REMATCH[2] - BASH_REMATCH[1]))
    echo "$((BASH_REMATCH[2] - BASH_REMATCH[1])) passed, ${BASH_REMATCH[1]} failed"
    return
  fi
  line=$(grep -E '^(=+ )?[0-9]+ (passed|failed|skipped|error).* in [0-9.]+s' "$1" | tail -n 1)
  for word in passed failed skipped; do
    [[ $line =~ ([0-9]+)\ $word ]] && printf -v "$word" %d $((${!word} + BASH_REMATCH[1]))
  done
  sed -E 's/ in [0-9.]+s.*//; s/^=+ //' <<<"$line"
}

step() { # NAME COMMAND...
  local name=$1 begun=$SECONDS log status
  shift
  mkdir -p build/log
  log=build/log/${name//[^a-z0-9]/-}.log
  printf '\n==== %s\n' "$name"
  "$@" 2>&1 </dev/null | tee "$log"
  status=${PIPESTATUS[0]}
  # Into a file, not a pipe: the counts must be added in this shell.
  count_tests "$log" >build/log/counted
  table+=("$(printf '%-26s %5d s   %s' "$name" $((SECONDS - begun)) "$(<build/log/counted)")")
  [ "$status" != 0 ] || return 0
  printf '\n'
  printf '%s\n' "${table[@]}"
  printf '\nFAILED in "%s" after %d s; what it said is in %s\n' "$name" "$SECONDS" "$log"
  exit 1
}

all_passed() {
  printf '\n'
  printf '%s\n' "${table[@]}"
  printf '\nall steps passed in %d s\n' "$SECONDS"
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
}
