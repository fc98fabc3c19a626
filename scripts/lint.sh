#!/usr/bin/env bash
# Runs every check that needs no build; two at a time, each with its words kept together.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
[ -x "$python" ] || python=python3

checks=(
  "$python scripts/check_includes.py"
  "$python scripts/check_banned.py"
  "$python scripts/check_docs.py"
  "scripts/check_format.sh"
  "scripts/check_headers.sh"
)
run_check() {
  local said status=0
  said=$($1 2>&1) || status=1
  echo "$said"
  return "$status"
}
export -f run_check
printf '%s\n' "${checks[@]}" | xargs -P 2 -I {} bash -c 'run_check "{}"'
