#!/usr/bin/env python3
"""Measure Math-Verify, the usual maths answer verifier, and Tribunal on the same pairs.

Math-Verify runs as its documentation shows it, `verify(parse(gold), parse(pred))`, in one process
on the main thread (its timeouts need signals, which only the main thread gets). Tribunal runs
`bench verify` on the same file. The last line of stdout is one JSON object with both rates.

Starts with the standard library alone: the pinned packages go into `.venv` beside this file.

    python3 bench/peers/math_verify.py --gsm8k example_model_solutions.jsonl --limit 2000 \\
        --tribunal target/release/tribunal
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

VENV = Path(__file__).resolve().parent / ".venv"
PACKAGES = [
    "math-verify[antlr4_13_2]==0.9.0",
    "latex2sympy2_extended==1.11.0",
    "sympy==1.13.3",
]
GSM8K_MODELS = ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"]


def enter_venv():
    """Go on in the virtual environment; make it first where it is missing or of other packages."""
    stamp = VENV / "packages.txt"
    wanted = "\n".join(PACKAGES)
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing {', '.join(PACKAGES)} into {VENV}", file=sys.stderr)
        venv.EnvBuilder(with_pip=True, clear=True).create(VENV)
        pip = [VENV / "bin" / "python", "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "--disable-pip-version-check", *PACKAGES], check=True)
        stamp.write_text(wanted)
    if Path(sys.prefix).resolve() != VENV:
        python = str(VENV / "bin" / "python")
        os.execv(python, [python, *sys.argv])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--input", type=Path, help="JSONL with the fields gold and pred")
    source.add_argument("--gsm8k", type=Path, help="GSM8K's example_model_solutions.jsonl")
    parser.add_argument("--limit", type=int, help="use at most this many pairs, from the start")
    parser.add_argument("--tribunal", type=Path, help="the tribunal binary to measure as well")
    arguments = parser.parse_args()
    if arguments.limit is not None and arguments.limit < 1:
        parser.error("--limit must be at least 1")
    return arguments


def read_jsonl(path):
    """The pairs of a file; those of multiple-choice kinds are another verifier's."""
    with open(path, encoding="utf-8") as lines:
        pairs = [json.loads(line) for line in lines if line.strip()]
    return [pair for pair in pairs if not pair.get("kind", "").startswith("mcq")]


def gsm8k_pairs(path):
    """Each labelled solution against the value of its `A: ` line."""
    pairs = []
    for row in read_jsonl(path):
        gold = row["ground_truth"].rsplit("A: ", 1)[1]
        for model in GSM8K_MODELS:
            solution = row[model]
            pred, expected = solution["solution"], solution["is_correct"]
            pairs.append({"gold": gold, "pred": pred, "expected": expected})
    return pairs


def percentile(ordered, share):
    """The nearest-rank percentile of a sorted list."""
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def measure_math_verify(pairs):
    """Rate, latencies and outcomes, one pair after the other."""
    # This file has the name of the package, and its folder comes first on the path.
    sys.path = [entry for entry in sys.path if Path(entry).resolve() != VENV.parent]
    from math_verify import parse, verify

    # The first calls build the grammar; a server would have paid for that long ago.
    verify(parse("$\\frac{1}{2}$"), parse("so \\boxed{0.5}"))
    latencies, verdicts = [], []
    start = time.perf_counter()
    for pair in pairs:
        began = time.perf_counter()
        try:
            verdict = verify(parse(pair["gold"]), parse(pair["pred"]))
        except Exception as error:  # Whatever it raises, the pair has no verdict.
            print(f"math-verify: {type(error).__name__}: {error}", file=sys.stderr)
            verdict = None
        latencies.append(time.perf_counter() - began)
        verdicts.append(verdict)
    elapsed = time.perf_counter() - start
    latencies.sort()
    return {
        "pairs_per_s": round(len(pairs) / elapsed, 1),
        "p50_ms": round(percentile(latencies, 50) * 1e3, 3),
        "p99_ms": round(percentile(latencies, 99) * 1e3, 3),
        "max_ms": round(latencies[-1] * 1e3, 3),
        "equal": sum(verdict is True for verdict in verdicts),
        "errors": sum(verdict is None for verdict in verdicts),
        **agreement(pairs, verdicts),
    }


def agreement(pairs, verdicts):
    """How verdicts (True, False, None) compare with the labels of the pairs that have one."""
    labelled = [(p["expected"], v is True) for p, v in zip(pairs, verdicts) if "expected" in p]
    return {
        "labelled": len(labelled),
        "agrees_with_label": sum(label == found for label, found in labelled),
        "false_accepts": sum(found and not label for label, found in labelled),
        "false_rejects": sum(label and not found for label, found in labelled),
    }


def measure_tribunal(binary, pairs):
    """The summary of `tribunal bench verify` on the same pairs, and what its verdicts are.

    Gold answers may be whole solutions, so their answers are extracted too (`--extract-reference`).
    """
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for pair in pairs:
            file.write(json.dumps({"gold": pair["gold"], "pred": pair["pred"]}) + "\n")
        file.flush()
        command = [binary, "bench", "verify", "--input", file.name, "--json"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        summary = json.loads(done.stdout.strip().splitlines()[-1])
        command = [binary, "score", file.name, "-o", "-", "--scorer", "math", "--extract-reference"]
        command += ["--reference", "gold", "--response", "pred"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    verdicts = [row["scores"]["math"].get("score") == 1 for row in rows]
    return {**summary, **agreement(pairs, verdicts)}


def main():
    arguments = parse_arguments()
    enter_venv()
    pairs = gsm8k_pairs(arguments.gsm8k) if arguments.gsm8k else read_jsonl(arguments.input)
    pairs = pairs[: arguments.limit]
    if not pairs:
        sys.exit("there are no pairs to measure")
    print(f"{len(pairs)} pairs", file=sys.stderr)
    peer = measure_math_verify(pairs)
    tribunal = measure_tribunal(arguments.tribunal, pairs) if arguments.tribunal else None
    summary = {"packages": PACKAGES, "pairs": len(pairs), "math_verify": peer, "tribunal": tribunal}
    if tribunal:
        summary["ratio"] = round(tribunal["verdicts_per_s"] / peer["pairs_per_s"], 1)
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
