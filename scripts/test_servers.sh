#!/usr/bin/env bash
# Starts and stops a real Spark Thrift Server by tests/servers/spark-thrift, as a test of that
# script: the server must answer, say that it runs, and be gone afterwards.
# SPARK_THRIFT_VENV names a venv with pyspark; the default is one in build/, made at first use.
set -euo pipefail
cd "$(dirname "$0")/.."
server=tests/servers/spark-thrift
folder=build/spark-thrift
export SPARK_THRIFT_VENV=${SPARK_THRIFT_VENV:-$PWD/build/spark-venv}

command -v java >/dev/null || { echo 'test-servers: needs Java 17' >&2; exit 1; }
mkdir -p build
[ -x "$SPARK_THRIFT_VENV/bin/python" ] || "$server" setup "$SPARK_THRIFT_VENV"

free_port() {
  "$SPARK_THRIFT_VENV/bin/python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

trap '"$server" stop "$folder"' EXIT
"$server" start "$folder" "$(free_port)" http
"$server" status "$folder"
"$server" stop "$folder"
trap - EXIT
if "$server" status "$folder"; then
  echo 'test-servers: it still runs' >&2
  exit 1
fi
