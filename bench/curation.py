#!/usr/bin/env python3
"""Near-duplicates and groups of `tribunal filter`: time and peak memory of each step.

Makes texts of about 100 words, of which three in ten are others with a word changed, and scored rows in groups
of eight that stand together or apart; then runs each step several times, a process each, and
prints the best time, the rows a second, the least processor time, the peak of resident memory, and
what the program says of its decision.

    python3 bench/curation.py --tribunal target/release/tribunal --texts 100000 --rows 2000000
"""

import argparse
import json
import multiprocessing
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

WORDS = 20_000
TEXT_WORDS = 100
GROUP = 8

NEAR = ["--dedupe", "near", "--dedupe-by", "text"]
GROUPS = {
    "pass rate": ["--pass-rate", "0.25:0.75"],
    "best of n": ["--best-of-n"],
    "pairs": ["--pairs", "best-worst"],
}


def write_texts(path: Path, n: int) -> None:
    """Writes the texts, and says how many are near an earlier one by the way they are made."""
    draw = random.Random(7)
    kept, n_near = [], 0
    with path.open("w") as file:
        for row in range(n):
            if kept and draw.random() < 0.3:
                # One word of a hundred changes five shingles of 96: a similarity of 0.9.
                words = list(draw.choice(kept))
                words[draw.randrange(len(words))] = "changed"
                n_near += 1
            else:
                words = [f"w{int(draw.paretovariate(0.5)) % WORDS}x{draw.randrange(50)}" for _ in range(TEXT_WORDS)]
                kept.append(words)
            file.write(json.dumps({"id": row, "text": " ".join(words)}) + "\n")
    print(f"{n_near:,} of {n:,} texts are made as near-duplicates")


def write_rows(path: Path, n: int, apart: bool) -> None:
    """Writes scored rows, the groups one after the other or spread over the whole file."""
    draw = random.Random(8)
    n_groups = n // GROUP
    with path.open("w") as file:
        for row in range(n_groups * GROUP):
            group = row % n_groups if apart else row // GROUP
            response = f"It is {draw.getrandbits(64):x}, because {draw.getrandbits(64):x} and {draw.getrandbits(64):x}"
            score = draw.randrange(2)
            file.write(
                f'{{"id":{row},"prompt":"What is {group} times {group % 89}?","response":"{response}",'
                f'"scores":{{"math":{{"status":"ok","score":{score}.0}}}}}}\n'
            )


def apart_from_this(function, *arguments) -> None:
    """Runs a function in a process of its own: a child's peak begins with the memory of its parent."""
    process = multiprocessing.Process(target=function, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0


def run(program: str, arguments: list[str]) -> tuple[float, float, int, str]:
    """Seconds, processor seconds, peak bytes and what was said of a run."""
    began = time.perf_counter()
    child = subprocess.Popen([program, "filter", *arguments], stderr=subprocess.PIPE, text=True)
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - began
    assert status == 0, said
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, said


def measured(name: str, program: str, source: Path, options: list[str], rounds: int, n: int) -> str:
    output = source.with_name("out.parquet")
    runs = [run(program, [str(source), "-o", str(output), "--overwrite", *options]) for _ in range(rounds)]
    seconds = min(seconds for seconds, _, _, _ in runs)
    processor = min(processor for _, processor, _, _ in runs)
    peak = max(peak for _, _, peak, _ in runs)
    rate = f"{n / seconds:12,.0f} rows/s"
    print(f"{name:<28} {seconds:7.2f} s {rate} {processor:7.2f} processor s {peak / 2**20:8.0f} MB")
    return runs[0][3]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tribunal", default="target/release/tribunal")
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "in.jsonl"
        apart_from_this(write_texts, lines, args.texts)
        source = Path(folder) / "texts.parquet"
        run(args.tribunal, [str(lines), "-o", str(source)])
        measured("written again", args.tribunal, source, [], args.rounds, args.texts)
        said = measured("near-duplicates", args.tribunal, source, NEAR, args.rounds, args.texts)
        print(said)
        for apart in (False, True):
            apart_from_this(write_rows, lines, args.rows, apart)
            source = Path(folder) / "rows.parquet"
            run(args.tribunal, [str(lines), "-o", str(source), "--overwrite"])
            place = "apart" if apart else "together"
            measured(f"written again, {place}", args.tribunal, source, [], args.rounds, args.rows)
            for name, operation in GROUPS.items():
                options = ["--group-by", "prompt", *operation]
                said = measured(f"{name}, {place}", args.tribunal, source, options, args.rounds, args.rows)
            print(said)


if __name__ == "__main__":
    main()
