#!/usr/bin/env bash
# Every header compiles alone, with gcc and with clang, and the public one as C++ too.
#
#   check_headers.sh [ROOT]
#
# A compiler that is missing is an error: a check that quietly looks at less is none.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

flags=(-fsyntax-only -Wall -Wextra -Wconversion -Wshadow -Wvla -Werror -Iinclude -Isrc -I.)
flags+=(-D_POSIX_C_SOURCE=200809L)
read -ra packages <<<"$(pkg-config --cflags libcurl openssl liblz4 libevent jansson cmocka)"

python=.venv/bin/python
[ -x "$python" ] || python=python3
python_include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
flags+=(-isystem "$python_include" "${packages[@]}")

# Included, not compiled itself: that is how its users see it.
compile() { # COMPILER LANGUAGE STANDARD HEADER
  printf '#include "%s"\n' "$4" | "$1" -x "$2" "-std=$3" "${flags[@]}" - ||
    { echo "$4: does not compile alone as $2 with $1" >&2; return 1; }
}

mapfile -t headers < <(find include src kiln python cli tests -name '*.h' 2>/dev/null | sort)
[ ${#headers[@]} -gt 0 ] || { echo 'check_headers: no headers' >&2; exit 1; }

failed=0
for header in "${headers[@]}"; do
  compile gcc c c11 "$header" || failed=1
  compile clang c c11 "$header" || failed=1
done
for header in include/mortar/*.h; do
  compile g++ c++ c++11 "$header" || failed=1
  compile clang++ c++ c++11 "$header" || failed=1
done
[ "$failed" = 0 ] || exit 1
echo "check_headers: ${#headers[@]} headers compile alone"
