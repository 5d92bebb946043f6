"""Tribunal beside llama.cpp and PyTorch in every arithmetic, in turns.

Each row is a program that loads the model, measures prefill, decoding and shared prefixes, and
ends; the rows follow each other, and all of them run `--rounds` times. Prints the median and the
range of each figure, and the load of the machine (Linux, one minute) before each turn.

    tribunal models make-tiny --like qwen2.5-0.5b --dtype bf16 random-0.5b
    python3 bench/peers/numerics.py --tribunal target/release/tribunal --model random-0.5b \\
        --torch bench/peers/.venv/bin/python --llama bench/peers/.venv-llama/bin/python --rounds 3
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
COLUMNS = ["prefill, tokens/s", "decode of 4, tokens/s", "shared prefixes, sequences/s"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tribunal", required=True, metavar="PROGRAM")
    parser.add_argument("--model", required=True, metavar="DIR")
    parser.add_argument("--torch", metavar="PYTHON", help="with torch and transformers")
    parser.add_argument("--llama", metavar="PYTHON", help="with llama-cpp-python and gguf")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", metavar="ROW", help="rows by a part of their names")
    return parser.parse_args()


def last_line(command):
    """The JSON that a program prints last."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout.splitlines()[-1])


def ours(args, compute):
    engine = [args.tribunal, "bench", "engine", "--model", args.model, "--compute", compute]
    raw = last_line([*engine, "--raw", "--repeats", "3", "--json"])
    shared = last_line([*engine, "--workload", "shared", "--rounds", "1", "--json"])["shared"]
    return [
        raw["prefill"]["tokens_per_s"],
        raw["decode"]["tokens_per_s"],
        shared["sequences_per_s"],
    ]


def torch(args, dtype):
    script = HERE / "transformers_forward.py"
    report = last_line([args.torch, script, "--dtype", dtype])
    return [report["prefill"]["tokens_per_s"], report["decode"]["tokens_per_s"], None]


def llama(args, dtype):
    script = HERE / "shared_prefix_llamacpp.py"
    options = ["--model", args.model, "--dtype", dtype, "--skip-naive", "--forward", "--rounds", "1"]
    report = last_line([args.llama, script, *options])
    return [
        report["prefill"]["tokens_per_s"],
        report["decode"]["tokens_per_s"],
        report["shared"]["copied"]["sequences_per_s"],
    ]


def rows(args):
    """Names of the rows, and how to measure one."""
    found = {f"tribunal, {how}": (ours, how) for how in ["bf16", "int8", "f32"]}
    if args.torch:
        found |= {f"transformers, {how}": (torch, how) for how in ["bfloat16", "float32"]}
    if args.llama:
        found |= {f"llama.cpp, {how}": (llama, how) for how in ["bf16", "q8_0", "f16"]}
    wanted = args.only or [""]
    return {name: row for name, row in found.items() if any(part in name for part in wanted)}


def shown(numbers):
    """Median and range."""
    if None in numbers:
        return "–"
    digits = 0 if min(numbers) >= 100 else 1
    least, middle, most = min(numbers), statistics.median(numbers), max(numbers)
    return f"{middle:.{digits}f} ({least:.{digits}f} to {most:.{digits}f})"


def main():
    args = arguments()
    measured, loads = {name: [] for name in rows(args)}, []
    for turn in range(args.rounds):
        for name, (measure, how) in rows(args).items():
            loads.append(os.getloadavg()[0])
            measured[name].append(measure(args, how))
            figures = ", ".join("–" if x is None else f"{x:.1f}" for x in measured[name][-1])
            print(f"{turn} {name}: {figures}; load before: {loads[-1]:.2f}", file=sys.stderr)
    print("| |", " | ".join(COLUMNS), "|\n|---|---:|---:|---:|")
    for name, turns in measured.items():
        print(f"| {name} |", " | ".join(shown(column) for column in zip(*turns)), "|")
    print(f"load of the machine before the turns: {min(loads):.2f} to {max(loads):.2f}")


if __name__ == "__main__":
    main()
