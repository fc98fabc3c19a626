#!/usr/bin/env bash
# Every C file is laid out by .clang-format.  check_format.sh [--fix] [ROOT]
#
# Only version 14 (Debian 12) judges: other versions lay the same file out in other ways. Where
# it is missing, that is said and nothing is checked.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
mode=(--dry-run -Werror)
[ "${1:-}" != --fix ] || { mode=(-i); shift; }
cd "${1:-$here}"

find_formatter() {
  local name
  for name in clang-format-14 clang-format; do
    if "$name" --version 2>/dev/null | grep -q 'version 14\.'; then echo "$name"; return; fi
  done
  return 1
}

formatter=$(find_formatter) || { echo 'check_format: skipped, no clang-format 14 here'; exit 0; }
mapfile -t files < <(find . \( -name .git -o -name .venv -o -name build -o -name dist \) -prune -o \
  -type f -name '*.[ch]' -print | sort)
[ ${#files[@]} -gt 0 ] || { echo 'check_format: no C files' >&2; exit 1; }
# Version 14 lays out some macro tables in two goes: the second run sees other line lengths.
[ "${mode[0]}" != -i ] || "$formatter" "${mode[@]}" "--style=file:$here/.clang-format" "${files[@]}"
if ! said=$("$formatter" "${mode[@]}" "--style=file:$here/.clang-format" "${files[@]}" 2>&1); then
  # The first line of each file is enough to find it.
  grep -E '^[^ ].*: (error|warning): ' <<<"$said" | sort -t: -k1,1 -u
  echo 'check_format: "make format" lays these files out' >&2
  exit 1
fi
echo "check_format: ${#files[@]} files, laid out"
