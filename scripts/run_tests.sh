#!/usr/bin/env bash
# Runs all tests but torture, bench, connectors and matrix: those marked alone (`run_tests.sh alone`),
# and the others divided among processes (`run_tests.sh divided`); without an argument, both. Slow
# tests take turns: see MILLRACE_TURN below. A few that fail beside others are tried once more with the
# machine to themselves: one that fails again fails the run, one that passes then is named as unsteady.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

PYTHON=.venv/bin/python
FAILED=.pytest_cache/v/cache/lastfailed
MOST_TRIED_AGAIN=5
TESTS_FAILED=1
# Tests start hundreds of interpreters, each of which would compile every module anew.
unset PYTHONDONTWRITEBYTECODE
# The day of the commit decides which of the slow tests have their turn (tests/runs/turns.py). Without
# a commit, and with an empty MILLRACE_TURN, all of them run.
day_of_commit() {
    local committed
    if [ "$(git rev-parse --show-toplevel 2>/dev/null)" != "$(pwd -P)" ]; then return; fi
    committed=$(git log -1 --format=%ct 2>/dev/null) && echo $((committed / 86400))
}
export MILLRACE_TURN="${MILLRACE_TURN-$(day_of_commit)}"
echo "slow tests: ${MILLRACE_TURN:+only those of day }${MILLRACE_TURN:-all}"
LEFT_OUT="not torture and not bench and not connectors and not matrix"

names_of_failed() { "$PYTHON" -c "import json, sys; print(*json.load(open(sys.argv[1])), sep='\n')" "$FAILED"; }

# The files are named, so that not all tests are collected for the few of them.
run_alone() {
    local files
    mapfile -t files < <(grep -rl --include='test_*.py' 'pytest\.mark\.alone' tests)
    "$PYTHON" -m pytest -m "alone and not torture" "${files[@]}"
}

# Processes of tests. They wait for JVMs and others: four of them left up to a third of two cores idle.
# Each needs two gigabytes with what it starts.
workers() {
    local by_cores by_memory wanted
    by_cores=$((3 * $(getconf _NPROCESSORS_ONLN)))
    by_memory=$(($(getconf _PHYS_PAGES) * $(getconf PAGESIZE) / 2000000000))
    wanted=$((by_cores < 4 ? 4 : by_cores > 8 ? 8 : by_cores))
    wanted=$((wanted < by_memory ? wanted : by_memory))
    echo $((wanted < 1 ? 1 : wanted))
}

# A file's tests stay together: they share what a session or a module sets up, and are collected when
# it is their turn (tests/runs/by_file.py), so nobody knows how many there are. A test that hangs
# fails after 10 minutes, and one that crashes its process ends the run (tests/runs/watchdog.py).
run_divided() {
    "$PYTHON" -m pytest -n "${WORKERS:-$(workers)}" --dist loadfile --no-loadscope-reorder --timeout 600 \
        --max-worker-restart 0 -o console_output_style=times -m "not alone and $LEFT_OUT"
}

# Runs one part of the tests, and once more what failed in it.
run() {
    local status failed
    rm -f "$FAILED"
    "run_$1"
    status=$?
    if [ $status -eq 0 ]; then return 0; fi
    # anything else, such as a crash, is no matter of tests
    if [ $status -ne $TESTS_FAILED ] || [ ! -f "$FAILED" ]; then
        echo "the tests of the part '$1' ended with exit code $status"
        return 1
    fi
    failed=$(names_of_failed)
    if [ "$(wc -l <<<"$failed")" -gt $MOST_TRIED_AGAIN ]; then return 1; fi

    printf 'failed, and tried once more with the machine to themselves:\n%s\n' "$failed"
    # the same examples are drawn as before, but the tests are not counted anew
    MILLRACE_ALL_TURNS=1 "$PYTHON" -m pytest --last-failed --last-failed-no-failures none --timeout 600 \
        -m "$LEFT_OUT" || return 1
    printf 'unsteady: failed at first, and passed with the machine to themselves:\n%s\n' "$failed"
}

case "${1:-all}" in
    alone | divided) run "$1" ;;
    all) run alone && run divided ;;
    *) echo "usage: scripts/run_tests.sh [alone|divided]" >&2; exit 2 ;;
esac
