#!/usr/bin/env bash
# Configures and builds one preset of CMakePresets.json:  build.sh PRESET [TARGET...]
# Quiet where nothing is to do; Ninja runs CMake again by itself when a CMakeLists.txt changes.
# MORTAR_WERROR=ON makes warnings errors where the preset does not.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { echo 'usage: build.sh PRESET [TARGET...]' >&2; exit 2; }
preset=$1
shift

options=()
# What users build needs no test library.
[ "$preset" != release ] || options+=(-DMORTAR_TESTS=OFF)
[ -z "${MORTAR_WERROR:-}" ] || options+=("-DMORTAR_WERROR=$MORTAR_WERROR")

folder=build/$preset
if [ ! -e "$folder/build.ninja" ] || [ CMakePresets.json -nt "$folder/build.ninja" ] ||
  [ -n "${MORTAR_WERROR:-}" ]; then
  echo "configuring $folder"
  mkdir -p build/log
  cmake --preset "$preset" "${options[@]}" >"build/log/configure-$preset.log" 2>&1 ||
    { cat "build/log/configure-$preset.log" >&2; exit 1; }
  touch "$folder/build.ninja"
fi
echo "building $folder ${*:-}"
ninja -C "$folder" --quiet "$@"
