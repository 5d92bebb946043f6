#!/bin/sh
# rustc for cargo, as RUSTC_WRAPPER: puts libFuzzer's counters into the crates of this repository and into the
# parsers of templates and grammars. The others, such as matrix kernels and the HTTP library, would only be slower.
case "$* " in
    *"--crate-name build_script_build "* | *"--crate-type proc-macro "*) exec "$@" ;;
esac
case $CARGO_MANIFEST_DIR in
    "$FUZZ_SOURCES"/* | */derivre-* | */llguidance-* | */minijinja-*) ;;
    *) exec "$@" ;;
esac
exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Clink-dead-code -Ccodegen-units=1
