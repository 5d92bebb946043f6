#!/bin/sh
# Runs one fuzz target on a stable toolchain: fuzz/run.sh TARGET RUNS [SECONDS]
# An input that takes longer than SECONDS, 2 unless told, is a failure, and so are 2 GiB of memory; a busy
# machine takes more time, and targets that ask a server need 20.
set -eu
cd "$(dirname "$0")"
target=$1
runs=$2
seconds=${3:-2}
FUZZ_SOURCES=$(dirname "$PWD") RUSTC_WRAPPER=$PWD/instrument.sh cargo build --release --bin "$target"
mkdir -p "corpus/$target"
if [ ! -d "found/$target" ]; then
    mkdir -p "found/$target"
    if [ -f "corpus/$target.tar.gz" ]; then
        tar -xzf "corpus/$target.tar.gz" -C "found/$target"
    fi
fi
# Answers are short; files and bodies are as long as the longest that is kept, from the first run on.
case $target in
    equality | extraction | latex | plain) set -- -max_len=256 ;;
    *) set -- -max_len=8192 -len_control=0 ;;
esac
if [ -f "words/$target" ]; then
    set -- "$@" -dict="words/$target"
fi
# Files of a target are in memory where the system has such a folder. One thread computes: models are tiny.
TMPDIR=$(mktemp -d -p "$(test -w /dev/shm && echo /dev/shm || echo /tmp)")
export TMPDIR RAYON_NUM_THREADS=1
trap 'rm -rf "$TMPDIR"' EXIT
"target/release/$target" -runs="$runs" -timeout="$seconds" -rss_limit_mb=2048 "$@" \
    -artifact_prefix="found/$target." "found/$target" "corpus/$target"
