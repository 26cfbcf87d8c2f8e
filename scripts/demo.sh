#!/usr/bin/env bash
# Replays a year of departures from New York's airports (called by make demo, which sets up first).
# An interrupted replay goes on with: scripts/demo.sh --resume
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

OUTPUT=build/flights
RESUME=()
if [ "${1:-}" = "--resume" ]; then
    RESUME=(--resume)
else
    rm -rf "$OUTPUT"
fi

exec .venv/bin/millrace run ${RESUME[@]+"${RESUME[@]}"} --parallelism 2 \
    --checkpoint-dir "$OUTPUT/checkpoints" examples/flights/demo.py --output "$OUTPUT" --rate 15000
