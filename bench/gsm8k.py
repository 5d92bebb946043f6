#!/usr/bin/env python3
"""Scores the 5,276 labelled GSM8K solutions with `tribunal score`, kills a second run half-way with
SIGKILL, starts it again, and compares.

    bench/gsm8k.py example_model_solutions.jsonl [TRIBUNAL]

Prints how many verdicts agree with the labels, how far the killed run had come, and whether its
result is the unbroken run's, byte for byte. Exit code 0 only if everything agrees.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

MODELS = ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"]


def flatten(source, target):
    """One row a solution: question, response, reference, label."""
    rows = 0
    with open(source, encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as out:
        for line in lines:
            row = json.loads(line)
            for model in MODELS:
                flat = {
                    "id": f"{rows // 4}/{model}",
                    "prompt": row["question"],
                    "response": row[model]["solution"],
                    "reference": row["ground_truth"],
                    "label": row[model]["is_correct"],
                }
                out.write(json.dumps(flat) + "\n")
                rows += 1
    return rows


def command(tribunal, rows, out):
    return [tribunal, "score", str(rows), "-o", str(out), "--scorer", "math", "--extract-reference"]


def kill_half_way(args, journal, partial, size):
    """Starts a run and kills it once half of the output is written."""
    run = subprocess.Popen(args, stderr=subprocess.DEVNULL)
    while run.poll() is None:
        if journal.exists() and partial() * 2 >= size:
            run.kill()
            run.wait()
            return True
        time.sleep(0)
    return False


def main():
    source = sys.argv[1]
    tribunal = sys.argv[2] if len(sys.argv) > 2 else "target/release/tribunal"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        rows, whole = folder / "rows.jsonl", folder / "whole.jsonl"
        count = flatten(source, rows)
        subprocess.run(command(tribunal, rows, whole), check=True)
        scored = [json.loads(line) for line in whole.open(encoding="utf-8")]
        verdicts = [row["scores"]["math"] for row in scored]
        agree = sum(
            verdict["status"] == "ok" and (verdict["score"] == 1.0) == row["label"]
            for row, verdict in zip(scored, verdicts)
        )
        print(f"{agree} of {count} verdicts agree with the labels")

        for attempt in range(50):
            broken = folder / f"broken{attempt}.jsonl"
            partial = folder / f"broken{attempt}.jsonl.partial"
            journal = folder / f"broken{attempt}.jsonl.journal"
            size = whole.stat().st_size
            written = lambda: partial.stat().st_size if partial.exists() else 0
            if kill_half_way(command(tribunal, rows, broken), journal, written, size):
                break
        else:
            print("no run could be killed half-way")
            return 1
        share = 100 * written() / size
        print(f"killed with {share:.0f} % of the output written, no output file: {not broken.exists()}")
        subprocess.run(command(tribunal, rows, broken), check=True)
        same = broken.read_bytes() == whole.read_bytes()
        print(f"started again: byte-identical: {same}")
        return 0 if same and agree == count else 1


if __name__ == "__main__":
    sys.exit(main())
