"""Synchronous and asynchronous runs of `tribunal train` in turn, where rollouts have long tails.

    python asynchronous.py TRIBUNAL [--rounds 5] [--steps 30] [--long 0.06] [--staleness 1 2] [--wait 0.1]

A short supervised run first teaches the built-in model to write answers of about 12 tokens, and
`--long` of them of up to `--tokens`: most answers of a step end at once, and the last few keep the engine
busy with less than the cores can do. With `--wait` the long ones call a tool instead: a Python program that waits
so many seconds, as a search or a remote service does, and every answer is short. In many groups all rewards are equal, and those are not trained on.
All runs have the same loss, so that they differ by the schedule alone; "in turns" has the schedule of
staleness 1 without the overlap. The first two steps are left out.

For each run: seconds a step, those of them in which only sampling was left to do, seconds of gradients,
tokens sampled, the share of answers cut at `--tokens`, groups trained on, and busy cores (processor time
by wall time of the process, its start included). The last line is one JSON object with the medians and how
many times as fast as the synchronous run of the same seed each is.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import tempfile
import time

HEAD = """
[run]
folder = "{name}"
steps = {steps}
seed = {seed}

[policy]
path = "{model}"
{make}

[optimiser]
rate = {rate}

[[data]]
kind = "rows"
path = "{rows}"

[method]
"""

TOOLS = """
[tools]
tools = ["python_interpreter"]
format = "tags"
max_turns = 1
"""

# The policy learns the call, and to end behind its empty result.
CALL = "<python>import time; time.sleep({})</python>\n<observation>\n\n</observation>\n."

WARM = """
kind = "supervised"
rows = 16
"""

RUN = """
kind = "policy_gradient"
prompts = {prompts}
group = {group}
max_tokens = {tokens}
scorer = "has-x"
no_progress_after = 0
objective = {{ policy = {{ kind = "decoupled_ppo" }} }}
{asynchronous}

[[scorer]]
name = "has-x"
kind = "regex"
extract = "whole"
mode = "search"
"""


def write_rows(options, folder):
    """Answers of a letter, one in twelve rewarded, a letter for the length, and dots."""
    rng = random.Random(0)
    with open(os.path.join(folder, "warm.jsonl"), "w") as out:
        for index in range(2000):
            kind, mean = ("l", options.tokens) if rng.random() < options.long else ("s", 10)
            dots = "." * min(int(rng.expovariate(1 / mean)) + 1, options.tokens)
            if options.wait and kind == "l":
                dots = CALL.format(options.wait)
            row = {"prompt": str(index), "completion": ("x" if rng.random() < 0.08 else "y") + kind + dots}
            out.write(json.dumps(row) + "\n")
    with open(os.path.join(folder, "rows.jsonl"), "w") as out:
        out.writelines(json.dumps({"prompt": str(index), "answer": "x"}) + "\n" for index in range(2000))


def train(options, folder, name, method, **keys):
    path = os.path.join(folder, f"{name}.toml")
    with open(path, "w") as out:
        out.write(HEAD.format(name=name, **keys) + method)
    subprocess.run([options.tribunal, "train", path], check=True, stdout=subprocess.DEVNULL)
    return [json.loads(line) for line in open(os.path.join(folder, name, "metrics.jsonl"))]


def schedules(staleness):
    section = "[method.asynchronous]\nmax_staleness = {}\noverlap = {}\n"
    yield "synchronous", ""
    yield "in turns", section.format(1, "false")
    for versions in staleness:
        yield f"staleness {versions}", section.format(versions, "true")


def run(options, folder, name, asynchronous, seed):
    method = RUN.format(
        prompts=options.prompts, group=options.group, tokens=options.tokens, asynchronous=asynchronous
    )
    method += TOOLS if options.wait else ""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    steps = train(
        options,
        folder,
        f"{name.replace(' ', '-')}-{seed}",
        method,
        model=f"warm/step-{options.warm:06}",
        make="",
        rate=1e-5,
        rows="rows.jsonl",
        steps=options.steps,
        seed=seed,
    )
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def mean(key):
        return statistics.mean(step.get(key, 0.0) for step in steps[2:])

    return {
        "s_per_step": mean("time/step"),
        "s_sampling_alone": mean("time/rollout"),
        "s_gradients": mean("time/train"),
        "tokens": mean("rollout/tokens"),
        "truncated": mean("rollout/truncated"),
        "groups_trained_on": mean("groups/teaching"),
        "calls": mean("tools/calls"),
        "busy_cores": busy / wall,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tribunal")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--warm", type=int, default=200)
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--group", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=600)
    parser.add_argument("--long", type=float, default=0.06)
    parser.add_argument("--wait", type=float, default=0.0)
    parser.add_argument("--staleness", type=int, nargs="*", default=[1, 2])
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        write_rows(options, folder)
        make = 'make = "tribunal-tiny"'
        keys = {"model": "model", "make": make, "rate": 1e-3, "rows": "warm.jsonl"}
        train(options, folder, "warm", WARM, **keys, steps=options.warm, seed=0)
        for seed in range(options.rounds):
            order = list(schedules(options.staleness))
            order = order[seed % len(order) :] + order[: seed % len(order)]
            for name, asynchronous in order:
                figures = run(options, folder, name, asynchronous, seed)
                found.setdefault(name, []).append(figures)
                rounded = {key: round(value, 3) for key, value in figures.items()}
                print(name, json.dumps(rounded), flush=True)
    seconds = {name: [run["s_per_step"] for run in runs] for name, runs in found.items()}
    report = {
        name: {
            "s_per_step": statistics.median(runs),
            "times_as_fast": statistics.median(
                base / own for base, own in zip(seconds["synchronous"], runs)
            ),
        }
        for name, runs in seconds.items()
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
