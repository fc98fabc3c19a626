#!/usr/bin/env bash
# The Python tests that share cursors, threads, forks and Arrow memory, with the extension built for
# AddressSanitizer and UndefinedBehaviorSanitizer. The interpreter itself is the usual one, so leaks
# are not looked for here (test_sql_leaks.py counts), and its small allocations go to malloc, which
# the sanitizer watches. Needs `setup.sh install` before.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/.venv/bin/python
folder=build/asan-python
overlay=$folder/overlay

mkdir -p build/log
cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DMORTAR_SANITIZE=address,undefined \
  -DMORTAR_PYTHON=ON -DMORTAR_TESTS=OFF -DMORTAR_BENCH=OFF -DPython_EXECUTABLE="$python" \
  >build/log/configure-asan-python.log 2>&1 || { cat build/log/configure-asan-python.log >&2; exit 1; }
ninja -C "$folder" --quiet _native

# The installed package with the other extension in its place.
installed=$("$python" -c 'import mortar, os; print(os.path.dirname(mortar.__file__))')
rm -rf "$overlay"
mkdir -p "$overlay"
cp -r "$installed" "$overlay/mortar"
cp "$folder"/python/native/_native*.so "$overlay/mortar/"

runtimes="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
exec env PYTHONPATH="$overlay" PYTHONMALLOC=malloc LD_PRELOAD="$runtimes" \
  ASAN_OPTIONS=detect_leaks=0:handle_segv=0 UBSAN_OPTIONS=print_stacktrace=1 MORTAR_BUILD="$PWD/build/dev" \
  "$python" -m pytest -q -ra tests/python/test_sql_threads.py tests/python/test_sql_arrow.py \
  tests/python/test_sql_async.py tests/python/test_sql_errors.py
