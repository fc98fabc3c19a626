#!/usr/bin/env bash
# The demo: a local warehouse, and three questions about a year of flights from New York.
# Needs what `make demo` has built. Kiln is stopped at the end, also on Ctrl-C or a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
kiln=

stop() {
  if [ -n "$kiln" ]; then
    kill -TERM "$kiln" 2>/dev/null || true
    wait "$kiln" 2>/dev/null || true
  fi
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Prints the address once Kiln answers; fails when it ends before, or takes more than a minute.
wait_until_ready() {
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    if [ -s "$folder/ready" ]; then grep -oE 'https?://[^[:space:]"]+' "$folder/ready" | head -n 1; return; fi
    kill -0 "$kiln" 2>/dev/null || break
    sleep 0.1
  done
  echo 'demo: Kiln did not start:' >&2
  cat "$folder/log" >&2
  return 1
}

.venv/bin/python -m mortar.kiln --port 0 --ready-file "$folder/ready" >"$folder/log" 2>&1 </dev/null &
kiln=$!
uri=$(wait_until_ready)
echo "Kiln, the local warehouse, is ready: $uri"

for file in scripts/demo/*.sql; do
  printf '\n%s\n\n' "$(sed -n '1s/^-- //p' "$file")"
  .venv/bin/python examples/query.py "$uri" "$(sed 1d "$file")"
done

cat <<'END'

Kiln stops now. To go on, start it again and put questions of your own, in Python or in C:

  .venv/bin/python -m mortar.kiln --port 8181
  .venv/bin/python examples/query.py http://127.0.0.1:8181/sql/1.0/warehouses/kiln \
      "SELECT * FROM samples.nycflights.planes LIMIT 5"
  build/release/examples/query http://127.0.0.1:8181/sql/1.0/warehouses/kiln \
      "SELECT * FROM samples.nycflights.planes LIMIT 5"
END
