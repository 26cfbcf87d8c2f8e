#!/usr/bin/env bash
# Runs all tests but torture, bench and connectors: those marked alone first, then the others
# divided among processes. A few that fail beside others are tried once more with the machine to
# themselves: one that fails again fails the run, one that passes then is named as unsteady.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PYTHON=.venv/bin/python
FAILED=.pytest_cache/v/cache/lastfailed
MOST_TRIED_AGAIN=5
NONE_COLLECTED=5
# Tests start hundreds of interpreters, each of which would compile every module anew.
unset PYTHONDONTWRITEBYTECODE
LEFT_OUT="not torture and not bench and not connectors"

names_of_failed() { "$PYTHON" -c "import json, sys; print(*json.load(open(sys.argv[1])), sep='\n')" "$FAILED"; }

rm -f "$FAILED"
# named, so that not all of the tests are collected for the few of them
mapfile -t files < <(grep -rl --include='test_*.py' 'pytest\.mark\.alone' tests)
"$PYTHON" -m pytest -m "alone and not torture" "${files[@]}"
alone=$?
# a process that crashed has named its test; there is nothing more to learn from the others
if [ $alone -gt 1 ] && [ $alone -ne $NONE_COLLECTED ]; then
    echo "the tests marked alone ended with exit code $alone"
    exit 1
fi
# A file's tests stay together: they share what a session or a module sets up. A test that hangs
# fails after 15 minutes, and one that crashes its process ends the run (tests/runs/watchdog.py).
"$PYTHON" -m pytest -n "${WORKERS:-3}" --dist loadfile --no-loadscope-reorder --timeout 900 \
    --max-worker-restart 0 -m "not alone and $LEFT_OUT"
divided=$?

if [ $alone -eq 0 ] && [ $divided -eq 0 ]; then exit 0; fi
# 1: tests failed; anything else is no matter of tests
if [ $alone -gt 1 ] || [ $divided -gt 1 ] || [ ! -f "$FAILED" ]; then exit 1; fi
failed=$(names_of_failed)
if [ "$(wc -l <<<"$failed")" -gt $MOST_TRIED_AGAIN ]; then exit 1; fi

printf 'failed, and tried once more with the machine to themselves:\n%s\n' "$failed"
"$PYTHON" -m pytest --last-failed --last-failed-no-failures none --timeout 900 -m "$LEFT_OUT" || exit 1
printf 'unsteady: failed at first, and passed with the machine to themselves:\n%s\n' "$failed"
