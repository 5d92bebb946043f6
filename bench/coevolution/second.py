#!/usr/bin/env python3
"""The second study of docs/coevolution.md: its start, its arms, and what they measured.

    python3 bench/coevolution/second.py start TRIBUNAL FOLDER
    python3 bench/coevolution/second.py run TRIBUNAL FOLDER [--seeds 1-10] [--jobs 2] [--arms A,B,...]

`start` trains the model that all arms begin with, in FOLDER/start. `run` makes a folder for each arm and seed, and
FOLDER/results.jsonl, one object a run. A run that is there already is not made again, so that the command goes on where it
was stopped. second_report.py makes the tables. Needs nothing but Python's standard library.
"""

import argparse
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import time

import arms
import countdown

START = """
[run]
folder = "start"
steps = {steps}
seed = 1

[policy]
path = "tribunal-tiny"
make = "tribunal-tiny"
micro_tokens = 4096

[optimiser]
rate = 2e-3
schedule = {{ shape = "cosine", warmup = 20, floor = 0.05 }}
{data}
[method]
kind = "supervised"
rows = 96
"""

# What the runs of all arms have in common, here and in urpo.py: `adapters`, `method` and `scorers` are the rest.
RUN = """
[run]
folder = "."
steps = {steps}
seed = {seed}
checkpoint_every = 0

[policy]
path = "{start}"
micro_tokens = 4096
workers = 1

[[policy.adapter]]
name = "player"
r = 32
alpha = 64.0
{adapters}
[optimiser]
rate = {rate}
schedule = {{ shape = "linear", warmup = 5, floor = 0.2 }}
{data}
[method]
kind = "policy_gradient"
prompts = 16
group = 8
scorer = "solution"
adapter = "player"
objective = {{ policy = {{ kind = "dapo" }} }}
no_progress_after = 0
{method}

[[scorer]]
name = "solution"
kind = "regex"
{scorers}
[evaluation]
every = {every}
data = [{{ kind = "rows", path = "{held_out}" }}]
samples = 8
"""

ADAPTERS = """
[[policy.adapter]]
name = "judge"
r = 32
alpha = {alpha}
"""

METHOD = """max_tokens = 32
right = "solution"
judge_adapter = "judge"
advantage = {{ kind = "{advantage}" }}
{curriculum}
{spark}
{trust}
{guard}
"""

SCORERS = """
[[scorer]]
name = "opinion"
kind = "validate"
model = "{judging}"
min_label_mass = 0.0
{models}
"""

DATA = """
[[data]]
kind = "rows"
path = "{}"
"""

CURRICULUM = 'curriculum = {{ kind = "shares", shares = {{ labelled = {}, unlabelled = {} }} }}'

SPARK = """
[method.spark]
templates = "compact"
batch = {items}
teach = "labels"
update = "own"

[method.spark.options]
pairwise_share = 0.0
reflection_cap = 0
judge_cap = 64
contrast = {contrast}
answer = "whole"
random_labels = {random}
"""

TRUST = """
[method.trust]
scorer = "opinion"
held_out = {gate}
options = {{ warmup = {warmup}, ramp = 20 }}
"""

# Logs how far self-given rewards are above the true ones, and stops nothing.
GUARD = """
[method.guard]
scorer = "solution"
share = 1.0
stop = { limit = 9.0, patience = 1000 }
"""

# What sets each arm apart: what rewards problems without a label, and whether a judge is trained.
ARMS = {
    "A": dict(still=True),
    "B": dict(unlabelled="verified"),
    "C": dict(),
    "C2": dict(spark=True),
    "D": dict(unlabelled="judged", frozen=True, trust=True),
    "E": dict(unlabelled="judged", spark=True, trust=True),
    "Eg": dict(unlabelled="judged", spark=True),
    "Ec": dict(unlabelled="judged", spark=True, trust=True, contrast=False, advantage="grpo"),
    "H": dict(unlabelled="judged", spark=True, trust=True, random=True),
}

LOGGED = [
    "right_share",
    "reward",
    "entropy",
    "self_reward_gap",
    "trust/within_problems",
    "trust/lower_bound",
    "trust/weight",
    "rollout/tokens",
    "labels/loss",
    "max_abs_dlogp",
    "groups/sampled",
    "groups/zero_variance",
]


def start(options, write_rows, names=("solve", "judge"), steps=1200):
    """Trains the start on the files of these names, which `write_rows` writes."""
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(folder)
    data = "".join(DATA.format(f"{name}.jsonl") for name in names)
    (folder / "start.toml").write_text(START.format(steps=steps, data=data))
    subprocess.run([options.tribunal, "train", str(folder / "start.toml")], check=True)


def begun(options):
    """The model that all arms begin with."""
    return max((options.folder / "start").glob("step-*"))


def rows(options, seed):
    """The problems of a seed: labelled ones, those of the gate among them, and others with and without their labels."""
    place = options.folder / "data" / str(seed)
    if (place / "judged.jsonl").exists():
        return place
    place.mkdir(parents=True, exist_ok=True)
    known = options.labelled + options.gate
    found = countdown.problems(5000 + seed, known + options.unlabelled, False)
    found = [(prompt, countdown.pattern(right)) for prompt, _, _, right in found]
    labelled = [dict(prompt=prompt, reference=right, category="labelled") for prompt, right in found[:known]]
    others = [dict(prompt=prompt, category="unlabelled") for prompt, _ in found[known:]]
    rights = [right for _, right in found[known:]]
    countdown.write(place / "labelled.jsonl", labelled)
    countdown.write(place / "verified.jsonl", [dict(row, reference=right) for row, right in zip(others, rights)])
    judged = [dict(row, audit=right, scorer="opinion") for row, right in zip(others, rights)]
    countdown.write(place / "judged.jsonl", judged)
    return place


def held_out(options):
    path = options.folder / "held-out.jsonl"
    if not path.exists():
        found = countdown.problems(1000, 400, True)
        countdown.write(path, [dict(prompt=prompt, reference=countdown.pattern(right)) for prompt, _, _, right in found])
    return path


def run_file(options, name, seed):
    arm, place = ARMS[name], rows(options, seed)
    still, unlabelled = arm.get("still", False), arm.get("unlabelled")
    data = DATA.format(place / "labelled.jsonl")
    if unlabelled:
        data += DATA.format(place / f"{unlabelled}.jsonl")
    flag = lambda key, default: str(arm.get(key, default)).lower()
    spark = SPARK.format(items=options.items, contrast=flag("contrast", True), random=flag("random", False))
    frozen = f'[[model]]\nname = "frozen"\npath = "{begun(options)}"' if arm.get("frozen") else ""
    judged = unlabelled == "judged"
    method = METHOD.format(
        advantage=arm.get("advantage", "mean"),
        curriculum=CURRICULUM.format(options.share, 1 - options.share) if unlabelled else "",
        spark=spark if arm.get("spark") else "",
        trust=TRUST.format(gate=options.gate, warmup=options.warmup) if arm.get("trust") else "",
        guard=GUARD if judged else "",
    )
    scorers = SCORERS.format(judging="frozen" if arm.get("frozen") else "judge", models=frozen)
    return common(
        options, seed, still, data=data, method=method, adapters=ADAPTERS.format(alpha=options.judge_alpha), scorers=scorers
    )


def common(options, seed, still, **rest):
    """A run file. The run of an arm that is not trained takes one step of no size."""
    return RUN.format(
        steps=1 if still else options.steps,
        seed=seed,
        start=begun(options),
        rate="1e-30" if still else options.rate,
        every=0 if still else options.every,
        held_out=held_out(options),
        **rest,
    )


def run(options, run_file, logged, name, seed):
    place = options.folder / f"{name}-{seed}"
    done = place / "result.json"
    if done.exists():
        return
    # What a run that was stopped left.
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    file = place / "run.toml"
    file.write_text(run_file(options, name, seed))
    begin = time.time()
    with open(place / "log", "w") as log:
        command = [options.tribunal, "train", str(file)]
        ended = subprocess.run(command, stdout=log, stderr=log, env=arms.one_thread(), check=False)
    if ended.returncode != 0:
        print(f"{name}-{seed} failed: see {place / 'log'}", flush=True)
        return
    metrics = [json.loads(line) for line in open(place / "metrics.jsonl")]
    evaluations = [json.loads(line) for line in open(place / "evaluations.jsonl")]
    logged = {key: [line.get(key) for line in metrics] for key in logged}
    result = dict(arm=name, seed=seed, seconds=time.time() - begin, evaluations=evaluations, logged=logged)
    done.write_text(json.dumps(result))
    print(f"{name}-{seed}: {result['seconds']:.0f} s, pass@1 {evaluations[-1]['pass@1']:.3f}", flush=True)


def numbers(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def run_all(options, run_file, logged):
    # Seed by seed, so that what is there after an interruption is whole.
    jobs = [(name, seed) for seed in options.seeds for name in options.arms.split(",")]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda job: run(options, run_file, logged, *job), jobs))
    results = sorted(options.folder.glob("*/result.json"))
    with open(options.folder / "results.jsonl", "w") as out:
        out.writelines(path.read_text() + "\n" for path in results)


def parser(description, arms):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["start", "run"])
    parser.add_argument("tribunal")
    parser.add_argument("folder", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--seeds", type=numbers, default="11-20")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--arms", default=",".join(arms))
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--every", type=int, default=60, help="steps between evaluations")
    parser.add_argument("--rate", default="1e-3")
    parser.add_argument("--judge-alpha", type=float, default=16.0)
    parser.add_argument("--items", type=int, default=32, help="judging items of a step")
    parser.add_argument("--share", type=float, default=0.25, help="labelled problems of a batch")
    parser.add_argument("--warmup", type=int, default=10, help="steps before the judge counts")
    parser.add_argument("--labelled", type=int, default=64)
    parser.add_argument("--gate", type=int, default=32)
    parser.add_argument("--unlabelled", type=int, default=2000)
    return parser


def main():
    options = parser(__doc__, ARMS).parse_args()
    if options.command == "start":
        return start(options, countdown.write_start)
    for seed in options.seeds:
        rows(options, seed)
    run_all(options, run_file, LOGGED)


if __name__ == "__main__":
    main()
