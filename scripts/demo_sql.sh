#!/usr/bin/env bash
# A dashboard in SQL over a year of departures from New York (called by make demo-sql, which sets up
# first). Ctrl-C ends it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

OUTPUT=build/flights-sql
rm -rf "$OUTPUT"

exec .venv/bin/millrace run --parallelism 2 --checkpoint-dir "$OUTPUT/checkpoints" \
    examples/flights/sql_dashboard.py --output "$OUTPUT" --rate 15000
