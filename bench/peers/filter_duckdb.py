#!/usr/bin/env python3
"""`tribunal filter` beside DuckDB over the same scored rows, in one run.

Makes a Parquet file of scored rows with DuckDB (a prompt, a response, a struct of scores), then asks
both the same questions, several times in turns, and prints the best time of each and their ratio.
Both write Parquet with Zstandard, keep the order of the rows and may use every core. The counts of
rows that come out must be equal.

    python3 bench/peers/filter_duckdb.py --tribunal target/release/tribunal --rows 10000000

Needs `duckdb` from PyPI; nothing of it is part of the program.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

QUESTIONS = {
    "selective": "scores.math.score > 0.99 AND scores.helpful.score > 0.5",
    "half": "scores.math.score > 0.5",
    "text": "response LIKE '%77%' AND scores.math.score > 0.2",
}


def make(path: Path, rows: int) -> None:
    """Rows with texts of a few hundred bytes, which repeat as those of a dataset hardly do."""
    connection = duckdb.connect()
    connection.execute("SELECT setseed(0.5)")
    connection.execute(f"""
        COPY (
            SELECT i AS id,
                   'What is ' || (i * 7919 % 9973) || ' times ' || (i % 89) || '?' AS prompt,
                   'It is ' || hash(i) || ', because ' || hash(i + 1) || ' and ' || hash(i + 2) AS response,
                   {{'math': {{'status': 'ok', 'score': round(random(), 3)}},
                     'helpful': {{'status': 'ok', 'score': random()}}}} AS scores
            FROM range({rows}) t(i)
        ) TO '{path}' (FORMAT parquet, COMPRESSION zstd)
    """)


def duck(source: Path, target: Path, condition: str) -> float:
    """Seconds of a new process, as the other side has one."""
    query = f"COPY (SELECT * FROM '{source}' WHERE {condition}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import duckdb; duckdb.sql({query!r})"], check=True)
    return time.perf_counter() - began


def tribunal(program: str, source: Path, target: Path, condition: str) -> float:
    began = time.perf_counter()
    subprocess.run(
        [program, "filter", str(source), "-o", str(target), "--overwrite", "--where", condition],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - began


def count(path: Path) -> int:
    return duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0][0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tribunal", required=True)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=None)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = args.folder or Path(made)
        source = folder / f"scored-{args.rows}.parquet"
        if not source.exists():
            make(source, args.rows)
        for name, condition in QUESTIONS.items():
            ours, theirs = folder / "ours.parquet", folder / "theirs.parquet"
            best = {"tribunal": float("inf"), "duckdb": float("inf")}
            for _ in range(args.rounds):
                best["duckdb"] = min(best["duckdb"], duck(source, theirs, condition))
                best["tribunal"] = min(best["tribunal"], tribunal(args.tribunal, source, ours, condition))
            rows = count(ours)
            assert rows == count(theirs), "the two disagree"
            ratio = best["tribunal"] / best["duckdb"]
            line = {"question": name, "rows": args.rows, "kept": rows, "ratio": round(ratio, 2)}
            line |= {side: round(seconds, 2) for side, seconds in best.items()}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
