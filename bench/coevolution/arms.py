#!/usr/bin/env python3
"""The arms of docs/coevolution.md: writes their run files, runs them, and gathers what they measured.

    python3 bench/coevolution/arms.py TRIBUNAL FOLDER [--seeds 5] [--jobs 2] [--arms A,B,...]

TRIBUNAL is the binary, FOLDER holds the common start that start.py made (`base/`), and gets a folder
for each arm and seed and `results.jsonl`, one object a run. A run that is there already is not made again, so that the command
goes on where it was stopped. Needs nothing but Python's standard library.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import time

RUN = """
[run]
folder = "."
steps = {steps}
seed = {seed}

[policy]
path = "{start}"
micro_tokens = 4096
workers = 1
{adapters}
[optimiser]
rate = {rate}
schedule = {{ shape = "linear", warmup = 5, floor = 0.2 }}

[[data]]
kind = "chains"
count = 4000
lengths = [2, 5]
seed = {seed}
labelled = {labelled}
{judge}

[method]
kind = "policy_gradient"
prompts = 16
group = 8
max_tokens = 64
scorer = "math"
advantage = {{ kind = "mean" }}
objective = {{ policy = {{ kind = "dapo" }} }}
streams = {{ judge = {judge_share}, ce = {judge_share} }}
no_progress_after = 0
replay_buffer = 512
{method}

{spark}
{guard}
{models}

[[scorer]]
name = "judge"
kind = "validate"
model = "{judging}"

[[scorer]]
name = "own-judge"
kind = "validate"
model = "{own}"

[[scorer]]
name = "own-process"
kind = "process"
model = "{own}"
method = "labels"
separator = "<|step|>"
spellings = "bare"
splitter = "lines"

[evaluation]
every = {every}
data = [ {{ kind = "chains", count = 200, held_out = true, lengths = [2, 5], seed = 1000 }} ]
samples = 8

{sets}
"""

SET = """
[[evaluation.judge]]
name = "{name}"
set = "{kind}"
count = 400
lengths = {lengths}
seed = 2000
scorer = "own-judge"
{steps}
{path}
"""

SPARK = """
[method.spark]
templates = "compact"
batch = {items}
teach = "{teach}"
update = "joint"

[method.spark.options]
pairwise_share = 0.0
reflection_cap = 0
balance = true
random_labels = {random}
contrast = {contrast}
"""

GUARD = """
[method.guard]
scorer = "math"
share = 0.25
stop = { limit = 1.0, patience = 1000 }
"""

ADAPTERS = """
[[policy.adapter]]
name = "player"
r = 32
alpha = 64.0

[[policy.adapter]]
name = "judge-adapter"
r = 32
alpha = 64.0
"""


def arm(name):
    """What sets an arm apart from the others."""
    whole = dict(labelled=0.2, judge="", judging="policy", own="policy", spark=None, adapters="", method="")
    co = dict(whole, judge='judge = "judge"', spark="rewards")
    return {
        "A": dict(whole, labelled=1.0, still=True),
        "B": dict(whole, labelled=1.0),
        "C": whole,
        "D": dict(whole, judge='judge = "judge"', judging="frozen"),
        "E": co,
        "Ec": dict(co, spark="labels"),
        "Eb": dict(co, spark="both"),
        "En": dict(co, spark="labels", contrast=True),
        "F": dict(
            co,
            adapters=ADAPTERS,
            judging="judge-adapter",
            own="judge-adapter",
            method='adapter = "player"\njudge_adapter = "judge-adapter"',
        ),
        "G": dict(whole, judge='judge = "majority-vote"'),
        "H": dict(co, random=True),
    }[name]


def sets(start):
    near = dict(kind="near_misses", lengths="[2, 5]", steps='steps = "own-process"', path="")
    cases = str(start.parent / "base_errors.jsonl")
    made = [
        dict(near, name="near"),
        dict(near, name="slips", kind="slips"),
        dict(near, name="slips_long", kind="slips", lengths="[7, 9]"),
        dict(near, name="base", kind="file", path=f'path = "{cases}"'),
        dict(near, name="policy", kind="policy", steps=""),
    ]
    return "\n".join(SET.format(**one) for one in made if one["kind"] != "file" or os.path.exists(cases))


def run_file(name, seed, start, options):
    chosen = arm(name)
    still = chosen.get("still", False)
    spark = chosen["spark"]
    flag = lambda key: str(chosen.get(key, False)).lower()
    items = dict(items=options.items, random=flag("random"), contrast=flag("contrast"))
    return RUN.format(
        steps=1 if still else options.steps,
        every=0,
        seed=seed,
        start=start,
        rate="1e-30" if still else (options.adapter_rate if chosen["adapters"] else options.rate),
        labelled=chosen["labelled"],
        judge=chosen["judge"],
        method=chosen["method"],
        adapters=chosen["adapters"],
        spark=SPARK.format(teach=spark, **items) if spark else "",
        judge_share=options.judge_share,
        guard=GUARD if chosen["judge"] else "",
        models=f'[[model]]\nname = "frozen"\npath = "{start}"' if chosen["judging"] == "frozen" else "",
        judging=chosen["judging"],
        own=chosen["own"],
        sets=sets(start),
    )


def one_thread():
    """Two runs at once use two cores better than one run does, and no bit depends on it."""
    return dict(os.environ, RAYON_NUM_THREADS="1", CANDLE_NUM_THREADS="1")


def start_of(folder):
    """The model that every arm begins with, made by start.py."""
    start = folder / "base"
    if not start.exists():
        raise SystemExit(f"{start} is not there: make it with start.py")
    return start


def run(options, folder, start, name, seed):
    place = folder / f"{name}-{seed}"
    done = place / "result.json"
    if done.exists():
        return json.loads(done.read_text())
    place.mkdir(parents=True, exist_ok=True)
    file = place / "run.toml"
    file.write_text(run_file(name, seed, start, options))
    begin = time.time()
    with open(place / "log", "w") as log:
        command = [options.tribunal, "train", str(file)]
        ended = subprocess.run(command, stdout=log, stderr=log, env=one_thread(), check=False)
    metrics = [json.loads(line) for line in open(place / "metrics.jsonl")] if (place / "metrics.jsonl").exists() else []
    if ended.returncode != 0:
        print(f"{name}-{seed} failed: see {place / 'log'}", flush=True)
        return None
    evaluations = [json.loads(line) for line in open(place / "evaluations.jsonl")]
    total = lambda key: sum(line.get(key, 0) for line in metrics)
    result = dict(
        arm=name,
        seed=seed,
        seconds=time.time() - begin,
        steps=len(metrics),
        player_tokens=total("rollout/tokens"),
        judge_tokens=total("judge/rollout/tokens"),
        trained_tokens=total("tokens_forward") + total("judge/tokens_forward") + total("labels/tokens_forward"),
        max_abs_dlogp=max((line.get("max_abs_dlogp", 0.0) for line in metrics), default=0.0),
        final=evaluations[-1],
        gap=[line["self_reward_gap"] for line in metrics if "self_reward_gap" in line],
        reward=[line.get("reward") for line in metrics],
    )
    done.write_text(json.dumps(result))
    print(f"{name}-{seed}: {result['seconds']:.0f} s, pass@1 {result['final'].get('pass@1')}", flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tribunal")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--rate", default="2e-4")
    parser.add_argument("--adapter-rate", default="3e-4")
    parser.add_argument("--items", type=int, default=4, help="judging items of a step")
    parser.add_argument("--judge-share", default="0.1", help="what judging counts for beside solving")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--arms", default="A,B,C,D,E,Ec,Eb,En,F,G,H")
    options = parser.parse_args()
    folder = options.folder.resolve()
    start = start_of(folder)
    # Seed by seed, so that what is there after an interruption is whole.
    seeds = range(options.first, options.first + options.seeds)
    jobs = [(name, seed) for seed in seeds for name in options.arms.split(",")]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda job: run(options, folder, start, *job), jobs))
    with open(folder / "results.jsonl", "w") as out:
        for result in results:
            if result:
                out.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
