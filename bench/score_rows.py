#!/usr/bin/env python3
"""`tribunal score` over rows like those of GSM8K, from Parquet to Parquet.

Makes the rows of the four published solutions of each question of GSM8K's test set, again and again
until there are enough, each with a number of its own in its prompt; scores them; prints rows a second
from the start of the process to its end, and the most memory that it held. The last lines are the time
that writing the same columns takes alone (`tribunal filter` without a condition), which is what no
scorer could be faster than.

    python3 bench/score_rows.py target/release/tribunal SOLUTIONS.jsonl --rows 2000000

SOLUTIONS.jsonl is example_model_solutions.jsonl of github.com/openai/grade-school-math. Needs `duckdb`
from PyPI to write Parquet; nothing of it is part of the program.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import tempfile
import time
from pathlib import Path

MODELS = ["6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"]


def solutions(path: Path) -> list[tuple[str, str, str]]:
    rows = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        answer = row["ground_truth"].rsplit("A:", 1)[-1].strip()
        rows += [(row["question"], row[model]["solution"], answer) for model in MODELS]
    return rows


def make(base: list[tuple[str, str, str]], path: Path, rows: int) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE base (i BIGINT, question TEXT, response TEXT, reference TEXT)")
    connection.executemany("INSERT INTO base VALUES (?, ?, ?, ?)", [(i, *row) for i, row in enumerate(base)])
    connection.execute(f"""
        COPY (
            SELECT n AS id, question || ' (' || n || ')' AS prompt, response, reference
            FROM range({rows}) t(n) JOIN base ON n % {len(base)} = base.i ORDER BY n
        ) TO '{path}' (FORMAT parquet, COMPRESSION zstd)
    """)


def run(command: list[str]) -> tuple[float, float]:
    """Seconds, and the most memory of the process in MB."""
    began = time.perf_counter()
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"{command} ended with {status}")
    return time.perf_counter() - began, usage.ru_maxrss / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("solutions", type=Path)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--scorer", action="append")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dir", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.dir) as folder:
        source = (args.dir or Path(folder)) / f"gsm8k-{args.rows}.parquet"
        if not source.exists():
            # In a process of its own: a child's memory is counted from its parent's on.
            maker = multiprocessing.Process(target=make, args=(solutions(args.solutions), source, args.rows))
            maker.start()
            maker.join()
        out = Path(folder) / "scored.parquet"
        scorers = [part for name in args.scorer or ["math"] for part in ("--scorer", name)]
        score = [args.program, "score", str(source), "-o", str(out), "--overwrite", *scorers]
        copy = [args.program, "filter", str(source), "-o", str(out), "--overwrite"]
        for _ in range(args.rounds):
            seconds, memory = run(score)
            print(f"score  {args.rows / seconds:>9,.0f} rows/s  {seconds:6.2f} s  {memory:5.0f} MB", flush=True)
        seconds, memory = run(copy)
        print(f"copy   {args.rows / seconds:>9,.0f} rows/s  {seconds:6.2f} s  {memory:5.0f} MB")


if __name__ == "__main__":
    main()
