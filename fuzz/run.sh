#!/bin/sh
# Runs one fuzz target on a stable toolchain: fuzz/run.sh TARGET RUNS [SECONDS]
# An input that takes longer than SECONDS, 2 unless told, is a failure; a busy machine takes more.
set -eu
cd "$(dirname "$0")"
target=$1
runs=$2
seconds=${3:-2}
flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags="$flags -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
flags="$flags -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
flags="$flags -Clink-dead-code -Ccodegen-units=1 --cfg fuzzing"
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="$flags" cargo build --release --target "$host" --bin "$target"
mkdir -p "corpus/$target"
if [ ! -d "found/$target" ]; then
    mkdir -p "found/$target"
    tar -xzf "corpus/$target.tar.gz" -C "found/$target"
fi
exec "target/$host/release/$target" -runs="$runs" -timeout="$seconds" -rss_limit_mb=2048 -max_len=256 \
    -artifact_prefix="found/$target." "found/$target" "corpus/$target"
