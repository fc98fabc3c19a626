#!/usr/bin/env bash
# Every check and test, one after another.  test.sh all|quick
#
# Each step runs with its time (scripts/steps.sh); the first that fails is the last.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# shellcheck source=scripts/steps.sh
source scripts/steps.sh
python=.venv/bin/python
cores=$(nproc)
# Whatever pip builds here, the extension's warnings are errors.
export SKBUILD_CMAKE_DEFINE=MORTAR_WERROR=ON

ctest_in() { ctest --test-dir "build/$1" --output-on-failure --no-tests=error -j "$cores"; }

# ThreadSanitizer of gcc 12 finds no room for its shadow memory where the kernel spreads addresses
# widely, so they are held still where that is allowed.
tsan_ctest() {
  local still=(setarch "$(uname -m)" --addr-no-randomize)
  "${still[@]}" true 2>/dev/null || still=()
  "${still[@]}" ctest --test-dir build/tsan --output-on-failure --no-tests=error -j "$cores"
}

build_and_ctest() { # PRESET
  step "$1: build" scripts/build.sh "$1"
  step "$1: ctest" ctest_in "$1"
}

python_tests() {
  env MORTAR_BUILD="$PWD/build/dev" "$python" -m pytest -q -ra tests/python
}

# In a folder of its own, the way a user's first minute goes.
install_check() {
  local fresh=build/install-check
  rm -rf "$fresh"
  "$python" -m venv "$fresh" &&
    "$fresh/bin/python" -m pip install --quiet --disable-pip-version-check . &&
    "$fresh/bin/python" -m pip check &&
    (cd "$fresh" && bin/python -c 'import mortar; print("mortar", mortar.__version__)')
}

# Optimisers see what a debug build does not, so warnings are errors here too.
release_check() {
  env MORTAR_WERROR=ON scripts/build.sh release &&
    scripts/check_symbols.sh build/release/src/client/libmortar.so
}

case ${1:-} in
  all)
    step "setup" scripts/setup.sh test
    step "lint" scripts/lint.sh
    build_and_ctest dev
    build_and_ctest asan
    step "tsan: build" scripts/build.sh tsan
    step "tsan: ctest" tsan_ctest
    step "clang: build" scripts/build.sh dev-clang
    step "fuzz: build" scripts/build.sh fuzz fuzz/all
    step "fuzz: 10 s each" scripts/fuzz.sh 10
    step "release: build and symbols" release_check
    step "python: install" scripts/setup.sh install
    step "python: fresh install" install_check
    step "python: asan" scripts/python_asan.sh
    step "python: foreign clients" scripts/setup.sh foreign
    step "python: pytest" python_tests
    step "servers: spark over http" scripts/test_servers.sh spark-http
    ;;
  quick)
    step "setup" scripts/setup.sh test
    build_and_ctest dev
    step "release: build" scripts/build.sh release
    step "python: install" scripts/setup.sh install
    step "python: pytest" python_tests
    ;;
  *)
    echo 'usage: test.sh all|quick' >&2
    exit 2
    ;;
esac

all_passed
