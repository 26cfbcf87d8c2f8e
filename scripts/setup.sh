#!/usr/bin/env bash
# Prepares a fresh machine: .venv with everything pinned, and Java 17 or newer.
# A second call finds its stamp and does nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

VENV=.venv
STAMP=$VENV/.millrace-setup
JAVA_MINIMUM=17

say() { echo "millrace set-up: $*" >&2; }
fail() { say "$*"; exit 1; }
am_root() { [ "$(id -u)" -eq 0 ]; }
has() { command -v "$1" >/dev/null 2>&1; }
can_apt() { am_root && has apt-get; }

# Installs the first of the named packages that this distribution has.
apt_install_first() {
    local package
    apt-get update -qq >&2 || say "apt-get update failed; trying with the lists at hand"
    for package in "$@"; do
        if [ -n "$(apt-cache madison "$package" 2>/dev/null)" ]; then
            say "installing $package"
            DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
                "$package" >/dev/null
            return
        fi
    done
    return 1
}

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if has "$candidate" && is_new_enough "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    fail "Python 3.11 or newer is needed, and ${PYTHON:-python3} is" \
        "$("${PYTHON:-python3}" --version 2>/dev/null || echo "missing")." \
        "Install it, or name it: PYTHON=/path/to/python3.12 make test"
}

can_make_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

# Debian and Ubuntu split ensurepip off into a package of its own.
need_ensurepip() {
    local python=$1 package
    can_make_venv "$python" && return
    package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    if can_apt; then
        apt_install_first "$package" python3-venv || true
        can_make_venv "$python" && return
    fi
    fail "$python cannot make virtual environments (ensurepip is missing)." \
        "On Debian and Ubuntu: sudo apt-get install $package"
}

# Prints the major version of the given java command, nothing if it does not run.
java_major() {
    "$1" -version 2>&1 | sed -nE 's/.* version "(1\.)?([0-9]+).*/\2/p' | head -n 1 || true
}

# Spark prefers JAVA_HOME over the path, so that is the one to judge.
java_command() { echo "${JAVA_HOME:+$JAVA_HOME/bin/}java"; }

has_java() {
    local major
    major=$(java_major "$(java_command)")
    [ -n "$major" ] && [ "$major" -ge "$JAVA_MINIMUM" ]
}

need_java() {
    has_java && return
    if [ -n "${JAVA_HOME:-}" ]; then
        fail "JAVA_HOME=$JAVA_HOME is not Java $JAVA_MINIMUM or newer." \
            "Point it at one, or unset it to use the java on your path."
    fi
    if can_apt; then
        apt_install_first openjdk-17-jre-headless openjdk-21-jre-headless default-jre-headless || true
        has_java && return
    fi
    fail "Java $JAVA_MINIMUM or newer is needed by Spark, and 'java' is missing or older." \
        "On Debian and Ubuntu: sudo apt-get install openjdk-17-jre-headless;" \
        "elsewhere install any JDK $JAVA_MINIMUM+ and set JAVA_HOME."
}

# What the environment depends on: a change of any of it makes the stamp stale. Where it stands
# counts too, since a virtual environment cannot be moved.
fingerprint() { { pwd; cat pyproject.toml constraints.txt scripts/setup.sh; } | cksum; }

is_current() { [ -x "$VENV/bin/python" ] && [ "$(cat "$STAMP" 2>/dev/null)" = "$(fingerprint)" ]; }

# Whether pip was told where to look for packages, which uv would not be.
has_own_index() {
    local told
    told=$("$VENV/bin/python" -m pip config list) || return 0
    grep -qE "index-url|no-index" <<<"$told"
}

# Installs by uv, which takes a quarter of pip's processor time, or by pip where uv cannot.
install() {
    local pip=("$VENV/bin/python" -m pip install --quiet --disable-pip-version-check)
    if ! has_own_index && "${pip[@]}" --constraint constraints.txt uv; then
        VIRTUAL_ENV=$VENV "$VENV/bin/uv" pip install --quiet "$@" && return
        say "uv could not install everything; trying with pip"
    fi
    "${pip[@]}" "$@"
}

# Prints the directory of PySpark's wheel, which is built once: from its source each environment
# would unpack a gigabyte, and leave it in uv's cache.
pyspark_wheels() {
    "$VENV/bin/python" scripts/pyspark_wheel.py || say "could not build PySpark's wheel; going on without"
}

make_venv() {
    local python wheels
    python=$(find_python)
    need_ensurepip "$python"
    say "creating $VENV with $("$python" --version) (once, takes a few minutes)"
    "$python" -m venv --clear "$VENV"
    wheels=$(pyspark_wheels)
    install ${wheels:+--find-links "$wheels"} --constraint constraints.txt --editable '.[demo,dev]'
    # the wheel of flink-rest-client has a package `tests` in it, which would hide ours from workers
    rm -rf "$VENV"/lib/python3*/site-packages/tests
    fingerprint >"$STAMP"
}

# Two calls at once must not build the same environment twice.
if has flock; then
    exec 9>.setup.lock
    flock 9
fi
need_java
is_current || make_venv
