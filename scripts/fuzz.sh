#!/usr/bin/env bash
# Gives every fuzzer of build/fuzz a short run, two at a time:  fuzz.sh SECONDS
#
# What a run finds worth keeping stays in build/fuzz/corpus/NAME and is where the next one starts;
# fuzz/seeds/NAME, where it exists, is read too. An input that breaks something is kept in
# build/fuzz/found/.
set -euo pipefail
cd "$(dirname "$0")/.."
export seconds=${1:?usage: fuzz.sh SECONDS}

# The slowest input and the largest memory have limits, because hostile bytes must cost little.
run_one() {
  local program=$1 name corpus log folders
  name=$(basename "$program" _fuzz)
  corpus=build/fuzz/corpus/$name
  log=build/log/fuzz-$name.log
  folders=("$corpus")
  [ ! -d "fuzz/seeds/$name" ] || folders+=("fuzz/seeds/$name")
  mkdir -p "$corpus" build/fuzz/found build/log
  if "$program" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/found/$name-" "${folders[@]}" >"$log" 2>&1; then
    awk -v name="$name" '/number_of_executed_units/ { print "fuzz: " name ": " $2 " inputs, nothing found" }' "$log"
  else
    tail -n 40 "$log"
    echo "fuzz: $name found something; see build/fuzz/found and $log"
    return 1
  fi
}
export -f run_one

mapfile -t programs < <(find build/fuzz/fuzz -maxdepth 1 -name '*_fuzz' -type f | sort)
[ ${#programs[@]} -gt 0 ] || { echo 'fuzz: no fuzzer was built' >&2; exit 1; }
printf '%s\n' "${programs[@]}" | xargs -P 2 -I {} bash -c 'run_one {}'
