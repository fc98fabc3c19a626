#!/usr/bin/env bash
# What libmortar.so gives and takes.
#
#   check_symbols.sh LIBRARY [ROOT]
#
# - It exports exactly the functions that the public header declares and the export list names.
# - It asks the system for nothing that prints, exits, aborts or asserts: the library never does.
set -euo pipefail
[ $# -ge 1 ] || { echo 'usage: check_symbols.sh LIBRARY [ROOT]' >&2; exit 2; }
library=$(realpath "$1")
cd "${2:-$(dirname "$0")/..}"

header=include/mortar/mortar.h
list=src/client/libmortar.map
never='_?_?_?exit|_Exit|quick_exit|abort|__assert(_fail|_perror_fail)?|std(out|err)'
never+='|(__)?v?f?d?printf(_chk)?|puts|putchar|putc|perror|psignal|warn|err'

# Comments are left out: they may name a function without declaring it.
text() { gcc -w -fpreprocessed -dD -E -P -x c "$1"; }
declared() {
  text "$header" | tr '\n' ' ' | grep -oE 'MORTAR_API [^;(]*\(' | grep -oE 'mortar_[a-z0-9_]+ *\($' |
    tr -d '( ' | sort -u
}
listed() { text "$list" | grep -oE '\bmortar_[a-z0-9_*]+' | sort -u; }
exported() { nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u; }
wanted() { nm -D --undefined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u; }

failed=0
compare() { # NAME_A A NAME_B B
  local difference
  difference=$(diff <(echo "$2") <(echo "$4")) && return
  echo "$1 (<) and $3 (>) differ:" >&2
  grep '^[<>]' <<<"$difference" >&2
  failed=1
}

compare "$header" "$(declared)" "$list" "$(listed)"
compare "$list" "$(listed)" "the library" "$(exported)"
if used=$(wanted | grep -xE "$never"); then
  echo "the library must not use: ${used//$'\n'/, }" >&2
  failed=1
fi
[ "$failed" = 0 ] || exit 1
echo "check_symbols: $(exported | wc -l) functions exported, as declared"
