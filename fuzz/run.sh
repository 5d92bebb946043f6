#!/bin/sh
# Runs one fuzz target on a stable toolchain: fuzz/run.sh TARGET RUNS [SECONDS]
# An input that takes longer than SECONDS, 2 unless told, is a failure, and so are 2 GiB of memory; a busy
# machine takes more time, and targets that ask a server need 20.
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
    if [ -f "corpus/$target.tar.gz" ]; then
        tar -xzf "corpus/$target.tar.gz" -C "found/$target"
    fi
fi
# Answers are short; files and bodies are as long as the longest that is kept.
case $target in
    equality | extraction | latex | plain) longest=256 ;;
    *) longest=8192 ;;
esac
exec "target/$host/release/$target" -runs="$runs" -timeout="$seconds" -rss_limit_mb=2048 -max_len=$longest \
    -artifact_prefix="found/$target." "found/$target" "corpus/$target"
