#!/bin/sh
# Makes the peers' two virtual environments, outside the repository, or only those named:
#
#   setup.sh [pyflink] [spark]
#
# Safe to run again: an environment whose pins are already installed is left alone.
#
#   MILLRACE_BENCH_HOME   where they go       (default ~/.cache/millrace-bench)
#   PYTHON                interpreter to use  (default python3.11: PyFlink has no wheels above 3.12)
#
# Prints the two interpreters, for use as  "$pyflink pyflink_peer.py ..."  and so on.
set -eu

home=${MILLRACE_BENCH_HOME:-"$HOME/.cache/millrace-bench"}
flink_pin="apache-flink==2.3.0"
spark_pin="pyspark==4.3.0"
# transformWithState needs pandas and pyarrow; protobuf carries its state requests.
spark_extras="pandas>=2.2 pyarrow>=18 protobuf googleapis-common-protos grpcio grpcio-status"

fail() {
    echo "setup.sh: $1" >&2
    exit 1
}

python=${PYTHON:-}
if [ -z "$python" ]; then
    for candidate in python3.11 python3.12; do
        if command -v "$candidate" >/dev/null 2>&1; then
            python=$candidate
            break
        fi
    done
fi
[ -n "$python" ] || fail "needs Python 3.11 or 3.12 (set PYTHON to its path)."
command -v java >/dev/null 2>&1 || fail "needs Java 17: apt-get install openjdk-17-jre-headless."

# environment NAME PIN [MORE...]: pins decide whether the environment is already right.
environment() {
    directory="$home/$1"
    shift
    stamp="$directory/.installed"
    wanted="$("$python" -V) $*"
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
        return
    fi
    rm -rf "$directory"
    "$python" -m venv "$directory" >&2
    "$directory/bin/pip" install --quiet --upgrade pip "setuptools<80" wheel >&2
    "$directory/bin/pip" install --quiet "$@" >&2
    printf '%s' "$wanted" >"$stamp"
}

mkdir -p "$home"
for peer in ${*:-pyflink spark}; do
    case $peer in
        pyflink) environment pyflink "$flink_pin" ;;
        # shellcheck disable=SC2086
        spark) environment spark "$spark_pin" $spark_extras ;;
        *) fail "no peer is called '$peer': name pyflink, spark or none." ;;
    esac
    echo "$peer=$home/$peer/bin/python"
done
