#!/usr/bin/env bash
# Brings what a target needs, and does nothing when it is there already:
#
#   setup.sh build    Debian packages to build the library and Kiln's server
#   setup.sh demo     those, and .venv
#   setup.sh test     those, and what the tests need
#   setup.sh bench    those, and the clients that the benchmarks compare with
#   setup.sh foreign  clients for Node and Java that are tried against Kiln, into build/foreign
#   setup.sh install  this checkout, with Kiln and its engine, into .venv
#   setup.sh spark    Java and a venv with pyspark, for a real Spark Thrift Server (500 MB)
#   setup.sh hive     Java, Maven and the jars of a real HiveServer2 (600 MB)
#
# Packages are installed as root or through sudo where that asks for no password; otherwise the
# command to type is printed and nothing happens. Where packages come from is the business of the
# user's own settings of apt, pip, npm and Maven: no index is named here.
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(gcc libc6-dev cmake ninja-build pkg-config libcurl4-openssl-dev libssl-dev
  liblz4-dev libzstd-dev libevent-dev libjansson-dev ca-certificates)
test_packages=(g++ clang clang-format libcmocka-dev openssl valgrind)
python_packages=(python3 python3-dev python3-venv)
node_packages=(nodejs npm)
java_packages=(default-jdk-headless maven)

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# ---- Debian packages --------------------------------------------------------------------------

installed() { [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null)" = 'ii ' ]; }

# Adds the runtime of clang's sanitizers to the wanted packages: a package of its own, with clang's
# version in its name.
want_clang_runtime() {
  local version
  version=$(clang -dumpversion 2>/dev/null | cut -d. -f1) || true
  [ -n "$version" ] || version=$(apt-cache depends clang 2>/dev/null |
    sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -n 1)
  [ -n "$version" ] || return 0
  if apt-cache show "libclang-rt-$version-dev" >/dev/null 2>&1; then
    wanted+=("libclang-rt-$version-dev")
  else
    wanted+=("libclang-common-$version-dev")
  fi
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_install() { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" \
    >"$log" 2>&1 </dev/null
}

# Installs those of the named packages that are missing.
need_packages() {
  local name missing=() log=build/log/apt.log
  command -v dpkg-query >/dev/null || { say "no Debian packages here; CMake will name what is missing"; return 0; }
  for name; do installed "$name" || missing+=("$name"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! can_install; then
    printf 'setup: some packages are missing. Type this, then try again:\n\n' >&2
    printf '  sudo apt-get install --no-install-recommends %s\n\n' "${missing[*]}" >&2
    exit 1
  fi
  say "installing ${missing[*]}"
  mkdir -p build/log
  # The lists of a fresh machine are empty or old: they are read anew only where the first try fails.
  apt_install "${missing[@]}" || { as_root apt-get update -qq >>"$log" 2>&1 && apt_install "${missing[@]}"; } ||
    { tail -n 20 "$log" >&2; die "apt-get failed; see $log"; }
}

# ---- Python -----------------------------------------------------------------------------------

# True for an interpreter that can make .venv and compile an extension module.
suits() {
  "$1" - >/dev/null 2>&1 <<'PY'
import ensurepip, os, sys, sysconfig, venv
ok = sys.version_info >= (3, 10)
sys.exit(0 if ok and os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")) else 1)
PY
}

# Prints the first suitable interpreter.
find_python() {
  local name
  if [ -n "${PYTHON:-}" ]; then
    suits "$PYTHON" && echo "$PYTHON"
    return
  fi
  for name in python3 python3.13 python3.12 python3.11 python3.10 /usr/bin/python3; do
    suits "$name" && { echo "$name"; return; }
  done
  return 1
}

# Adds the packages of Debian's Python to the wanted ones, if no interpreter that suits is here.
want_python() {
  find_python >/dev/null && return
  [ -z "${PYTHON:-}" ] || die "PYTHON=$PYTHON is not a Python 3.10 or later with headers and venv"
  wanted+=("${python_packages[@]}")
}

pip() { .venv/bin/python -m pip --quiet --disable-pip-version-check "$@"; }

# The venv is made anew when its interpreter is gone or when PYTHON asks for another version.
need_venv() {
  local python version='import sys; print(sys.version)'
  python=$(find_python) || die "no Python 3.10 or later with headers and venv; name one with PYTHON="
  if [ -x .venv/bin/python ] && .venv/bin/python -m pip --version >/dev/null 2>&1; then
    [ -n "${PYTHON:-}" ] || return 0
    [ "$("$python" -c "$version")" != "$(.venv/bin/python -c "$version")" ] || return 0
  fi
  say "making .venv with $("$python" --version)"
  rm -rf .venv
  "$python" -m venv .venv
}

# The checkout itself, with Kiln's engine: again when any file that goes into it is newer.
need_mortar() {
  local stamp=.venv/mortar.stamp sources=(pyproject.toml CMakeLists.txt include src kiln python)
  if [ -e "$stamp" ] && [ -z "$(find "${sources[@]}" -newer "$stamp" ! -path '*__pycache__*' -print -quit)" ]; then
    return 0
  fi
  say "installing mortar with Kiln into .venv"
  touch .venv/mortar.begun
  # Some packages that the extra names are old: this builds them in the way that new pips build all.
  pip install --use-pep517 '.[kiln]'
  mv .venv/mortar.begun "$stamp"
}

# ---- Real servers for tests -------------------------------------------------------------------

need_spark() {
  local venv=${SPARK_THRIFT_VENV:-$PWD/build/spark-venv}
  [ ! -d "$venv"/lib/python*/site-packages/pyspark/jars ] || return 0
  say "installing pyspark into $venv"
  tests/servers/spark-thrift setup "$venv" 4.3.0 >/dev/null
}

need_hive() {
  local lib=${HIVE_SERVER2_LIB:-$PWD/build/hive-lib}
  compgen -G "$lib/hive-service-4*.jar" >/dev/null && return
  say "copying Hive's jars into $lib"
  tests/servers/hive-server2 setup "$lib"
}

need_requirements() { # LIST WHO
  local list=$1 stamp=.venv/$2.stamp
  cmp -s "$list" "$stamp" && return
  say "installing what the $2 need into .venv"
  pip install -r "$list" || return
  cp "$list" "$stamp"
}

# ---- Clients for Node and Java ----------------------------------------------------------------

# Adds the named packages unless both commands are there, from wherever.
want_commands() { # COMMAND COMMAND PACKAGE...
  command -v "$1" >/dev/null && command -v "$2" >/dev/null || wanted+=("${@:3}")
}

# What LIST names, brought into FOLDER by the command, which gets both; or nothing, when it is there.
need_clients() { # LIST FOLDER COMMAND
  local list=$1 folder=$2 stamp=$2.stamp
  cmp -s "$list" "$stamp" && return
  say "bringing what $list names"
  rm -rf "$folder" "$stamp"
  mkdir -p "$folder"
  "$3" "$list" "$PWD/$folder" || return
  cp "$list" "$stamp"
}

npm_install() {
  cp "$1" "$2"
  (cd "$2" && npm install --loglevel=error --no-audit --no-fund --no-package-lock)
}

maven_copy() {
  mvn --quiet --batch-mode --no-transfer-progress -Dstyle.color=never --file "$1" \
    dependency:copy-dependencies "-DoutputDirectory=$2"
}

# Missing packages are asked for in one go, so that a user types one command only. clang's runtime
# is looked for twice: on a fresh machine apt knows clang only after it has read its lists.
wanted=("${build_packages[@]}")
case ${1:-} in
  build)
    need_packages "${wanted[@]}"
    ;;
  demo)
    want_python
    need_packages "${wanted[@]}"
    need_venv
    ;;
  test | bench)
    wanted+=("${test_packages[@]}")
    want_python
    want_clang_runtime
    need_packages "${wanted[@]}"
    want_clang_runtime
    need_packages "${wanted[@]}"
    need_venv
    need_requirements tests/python/requirements.txt tests
    [ "$1" != bench ] || need_requirements bench/requirements.txt benchmarks ||
      say "they are measured without it"
    ;;
  foreign)
    wanted=()
    want_commands node npm "${node_packages[@]}"
    want_commands java mvn "${java_packages[@]}"
    need_packages "${wanted[@]}"
    need_clients tests/foreign/node/package.json build/foreign/node npm_install
    need_clients tests/foreign/java/pom.xml build/foreign/java maven_copy
    ;;
  install)
    need_mortar
    ;;
  spark)
    want_python
    want_commands java java default-jre-headless
    need_packages "${wanted[@]}"
    need_spark
    ;;
  hive)
    want_commands java mvn "${java_packages[@]}"
    need_packages "${wanted[@]}"
    need_hive
    ;;
  *) die "usage: setup.sh build|demo|test|bench|foreign|install|spark|hive" ;;
esac
