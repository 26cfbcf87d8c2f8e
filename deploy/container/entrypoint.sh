#!/bin/sh
# What the container runs: "executor" is how Spark on Kubernetes starts an executor, "healthy" asks
# the server in this container, everything else is a command of millrace ("server", "run", "doctor").
set -eu

find_spark_home() {
    python3 -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))'
}

healthy() {
    exec python3 - "${MILLRACE_HEALTH_URL:-http://127.0.0.1:8081/health}" <<'PYTHON'
import ssl, sys, urllib.request

# the certificate names the address that clients use, and this is the same container
unchecked = ssl._create_unverified_context()
with urllib.request.urlopen(sys.argv[1], timeout=4, context=unchecked) as answer:
    sys.exit(answer.status != 200)
PYTHON
}

# Spark numbers the options of the JVM from 0: SPARK_JAVA_OPT_0, SPARK_JAVA_OPT_1, ...
executor() {
    SPARK_HOME=${SPARK_HOME:-$(find_spark_home)}
    export SPARK_HOME
    classpath="$SPARK_HOME/jars/*"
    [ -z "${SPARK_CONF_DIR:-}" ] || classpath="$SPARK_CONF_DIR:$classpath"
    [ -z "${SPARK_EXTRA_CLASSPATH:-}" ] || classpath="$classpath:$SPARK_EXTRA_CLASSPATH"
    set --
    number=0
    while option=$(printenv "SPARK_JAVA_OPT_$number"); do
        set -- "$@" "$option"
        number=$((number + 1))
    done
    exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" "$@" \
        "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" -cp "$classpath" \
        org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
        --driver-url "$SPARK_DRIVER_URL" \
        --executor-id "$SPARK_EXECUTOR_ID" \
        --cores "$SPARK_EXECUTOR_CORES" \
        --app-id "$SPARK_APPLICATION_ID" \
        --hostname "$SPARK_EXECUTOR_POD_IP" \
        --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
        --podName "$SPARK_EXECUTOR_POD_NAME"
}

[ $# -gt 0 ] || set -- server
case "$1" in
executor) executor ;;
healthy) healthy ;;
*) exec millrace "$@" ;;
esac
