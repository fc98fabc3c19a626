#!/usr/bin/env bash
# Runs tests/python/test_real_servers.py against real servers.  test_servers.sh [PLACE...]
#
# A place is SERVER-TRANSPORT: spark or hive, http, nosasl or sasl; without one, all six. What a
# server needs is brought by scripts/setup.sh. SPARK_THRIFT_VENV and HIVE_SERVER2_LIB name a venv with
# pyspark and a folder of Hive's jars; the defaults are in build/, made at first use.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- {spark,hive}-{http,nosasl,sasl}

export SPARK_THRIFT_VENV=${SPARK_THRIFT_VENV:-$PWD/build/spark-venv}
export HIVE_SERVER2_LIB=${HIVE_SERVER2_LIB:-$PWD/build/hive-lib}
export SPARK_THRIFT_NICE=0 HIVE_SERVER2_NICE=0
case " $* " in *' spark-'*) scripts/setup.sh spark ;; esac
case " $* " in *' hive-'*) scripts/setup.sh hive ;; esac
# The archive costs the first server of Spark's a few seconds and spares the others more.
case " $* " in *' spark-'*' spark-'*) export SPARK_THRIFT_CDS=$PWD/build/spark.jsa ;; esac

failed=()
for place; do
  printf '\n==== %s\n' "$place"
  MORTAR_SERVERS=$place .venv/bin/python -m pytest -q -ra tests/python/test_real_servers.py || failed+=("$place")
done
[ ${#failed[@]} = 0 ] || { printf '\nfailed: %s\n' "${failed[*]}"; exit 1; }
