#!/usr/bin/env bash
# Time from start to the first answer of /readyz, and resident memory when idle.
#   bench/idle.sh [TRIBUNAL] [RUNS]
set -euo pipefail
tribunal="${1:-target/release/tribunal}"
runs="${2:-10}"
for _ in $(seq "$runs"); do
    start=$(date +%s%N)
    "$tribunal" serve --bind 127.0.0.1:18099 >/dev/null 2>&1 &
    pid=$!
    until curl -sf -o /dev/null http://127.0.0.1:18099/readyz; do :; done
    ready=$((($(date +%s%N) - start) / 1000))
    sleep 0.3
    memory=$(awk '/VmRSS/ {print $2}' "/proc/$pid/status")
    echo "ready after ${ready} us, ${memory} KiB resident"
    kill "$pid"
    wait "$pid" || true
done
