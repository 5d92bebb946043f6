#!/usr/bin/env python3
"""Two builds of the program beside each other, in turns, on one machine.

    python3 bench/compare_builds.py OLD NEW --solutions SOLUTIONS.jsonl --model DIR --policy DIR

OLD and NEW are programs. Each measure is taken of both in every round, the first to run alternating,
and the best of the rounds is compared: noise of the machine only ever slows. One line of JSON a
measure: the better figure of each build and `new_is`, how many times OLD's speed NEW has.

SOLUTIONS.jsonl is example_model_solutions.jsonl of github.com/openai/grade-school-math. `--model` is a
folder to read tokens with (`tribunal models make-tiny --like qwen2.5-0.5b --dtype f16 DIR`), `--policy`
the folder of a model of the toy task to train. A measure whose input is not given is left out and
named. Needs `duckdb` from PyPI to write Parquet.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "peers")]


def output(command: list[str]) -> str:
    done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    if found is None:
        raise SystemExit(f"no {pattern!r} in:\n{text}")
    return float(found[1].replace(",", ""))


def verify(program: str, options: argparse.Namespace, folder: Path) -> float:
    """Verdicts a second on one thread."""
    return number(r"rate\s+([\d.,]+) verdicts/s", output([program, "bench", "verify", "--seconds", "4"]))


def serve(program: str, options: argparse.Namespace, folder: Path) -> float:
    """Verdicts a second over HTTP, batches of 64, 16 connections, distinct inputs."""
    server = subprocess.Popen(
        [program, "serve", "--bind", f"127.0.0.1:{options.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{options.port}"
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{url}/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        found = folder / "serve.json"
        # One load generator for both, so that only the server differs.
        output([
            options.new, "bench", "serve", "--url", url, "--batch", "64", "--unique", "--concurrency", "16",
            "--warmup", "1s", "--duration", "5s", "--json", str(found),
        ])
        return json.loads(found.read_text())["phases"][0]["verdicts_per_s"]
    finally:
        server.terminate()
        server.wait()


def prefill(program: str, options: argparse.Namespace, folder: Path) -> float:
    """Tokens a second of a prefill of 512 tokens."""
    text = output([program, "bench", "engine", "--raw", "--model", options.model, "--repeats", "3"])
    return number(r"prefill\D*([\d.,]+) tokens/s", text)


def shared(program: str, options: argparse.Namespace, folder: Path) -> float:
    """Sequences a second of many questions over few texts."""
    command = [program, "bench", "engine", "--model", options.model, "--workload", "shared", "--rounds", "1"]
    return number(r"([\d.,]+) sequences/s", output(command))


def train(program: str, options: argparse.Namespace, folder: Path) -> float:
    """Steps of GRPO a second, of the run that stands beside TRL's."""
    import trl_grpo

    # The key's older name, which every build reads.
    trl_grpo.RUN = trl_grpo.RUN.replace("no_progress_after", "stuck_after")
    settings = argparse.Namespace(tribunal=program, model=options.policy, steps=12, prompts=16, group=8, tokens=64)
    with tempfile.TemporaryDirectory() as run:
        rows = trl_grpo.problems(settings.steps * settings.prompts, seed=0)
        return 1 / trl_grpo.run_tribunal(settings, run, rows)["s_per_step"]


def score(program: str, options: argparse.Namespace, folder: Path) -> float:
    """Rows a second of `tribunal score` with `math`, Parquet to Parquet."""
    import score_rows

    source, rows = folder / "rows.parquet", 400_000
    if not source.exists():
        score_rows.make(score_rows.solutions(Path(options.solutions)), source, rows)
    out = str(folder / "scored.parquet")
    return rows / score_rows.run([program, "score", str(source), "-o", out, "--overwrite", "--scorer", "math"])[0]


def filter_rows(program: str, options: argparse.Namespace, folder: Path) -> float:
    """Rows a second of `tribunal filter` with a condition on a score and a text."""
    import filter_duckdb

    source, rows = folder / "filter.parquet", 3_000_000
    if not source.exists():
        filter_duckdb.make(source, rows)
    return rows / filter_duckdb.tribunal(program, source, folder / "kept.parquet", filter_duckdb.QUESTIONS["text"])


# Measure, and the option without which it cannot be taken.
MEASURES = {
    "verify": (verify, None),
    "serve": (serve, None),
    "score": (score, "solutions"),
    "filter": (filter_rows, None),
    "prefill": (prefill, "model"),
    "shared": (shared, "model"),
    "train": (train, "policy"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--solutions")
    parser.add_argument("--model")
    parser.add_argument("--policy")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--port", type=int, default=18080)
    parser.add_argument("--only", nargs="*", choices=MEASURES, default=list(MEASURES))
    options = parser.parse_args()
    for name in options.only:
        measure, needs = MEASURES[name]
        if needs and not getattr(options, needs):
            print(json.dumps({"measure": name, "left_out": f"no --{needs}"}), flush=True)
            continue
        best = {"old": 0.0, "new": 0.0}
        with tempfile.TemporaryDirectory() as folder:
            for at in range(options.rounds):
                for side in ("old", "new") if at % 2 == 0 else ("new", "old"):
                    best[side] = max(best[side], measure(getattr(options, side), options, Path(folder)))
        ratio = round(best["new"] / best["old"], 3)
        print(json.dumps({"measure": name, "unit": measure.__doc__.split(" a second")[0].lower() + "/s",
                          "old": round(best["old"], 2), "new": round(best["new"], 2), "new_is": ratio}), flush=True)


if __name__ == "__main__":
    main()
