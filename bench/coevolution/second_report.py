#!/usr/bin/env python3
"""Tables of what second.py or urpo.py measured.

    python3 bench/coevolution/second_report.py FOLDER [--seeds 11-20] [--keep FILE]
    python3 bench/coevolution/second_report.py FILE

`--keep` puts the figures of each run into FILE, a line a run, beside those that it has, from which the same tables are made.
Prints Markdown: means over seeds with bootstrap intervals as report.py's, what an arm is beyond C, the two tests in their fixed
order (E less C, then E less D; U less C, then U less Us: exact sign-flip permutation tests over paired seeds, two-sided), and the
gates. Needs nothing but Python's standard library.
"""

import argparse
import itertools
import json
import pathlib

import report
import second

ARMS = ["A", "B", "C", "C2", "D", "E", "Eg", "Ec", "H", "R", "U", "Us"]


def figures(result):
    """What the tables need of a run: its last evaluation, and what it logged, over its last 60 steps."""
    logged = result["logged"]
    late = lambda key: report.mean(logged.get(key, [])[-60:])
    first = lambda key: next((value for value in logged.get(key, []) if value is not None), None)
    return dict(
        arm=result["arm"],
        seed=result["seed"],
        seconds=round(result["seconds"], 1),
        final=result["evaluations"][-1],
        judge=late("trust/within_problems"),
        judge_before=first("trust/within_problems"),
        bound_before=first("trust/lower_bound"),
        weight=late("trust/weight"),
        gap=late("self_reward_gap"),
        ranking=late("referee/held_out_accuracy"),
        ranking_before=first("referee/held_out_accuracy"),
        length=late("open/length_correlation"),
        entropy=late("entropy"),
        tokens=sum(value or 0 for key in logged if key.endswith("rollout/tokens") for value in logged[key]),
        exact=max(value or 0.0 for value in logged["max_abs_dlogp"]),
    )


def read(path):
    """(arm, seed) -> figures, of a folder of runs or of a file that --keep wrote."""
    if path.is_dir():
        found = [figures(json.loads(line)) for line in (path / "results.jsonl").read_text().splitlines()]
    else:
        found = [json.loads(line) for line in path.read_text().splitlines()]
    return {(run["arm"], run["seed"]): run for run in found}


def keep(path, runs):
    runs = (read(path) if path.exists() else {}) | runs
    path.write_text("".join(json.dumps(runs[key]) + "\n" for key in sorted(runs)))


def sign_flips(differences):
    """The share of all 2^n assignments of signs whose sum is at least as far from 0."""
    seen = abs(sum(differences))
    flips = itertools.product((1, -1), repeat=len(differences))
    sums = [abs(sum(sign * value for sign, value in zip(signs, differences))) for signs in flips]
    return sum(value >= seen - 1e-12 for value in sums) / len(sums)


def paired(results, one, other, key="pass@1"):
    seeds = sorted(set(results.get(one, {})) & set(results.get(other, {})))
    return [results[one][seed]["final"][key] - results[other][seed]["final"][key] for seed in seeds]


def tests(results):
    rows = []
    for one, other in [("E", "C"), ("E", "D"), ("D", "C"), ("B", "C"), ("C2", "C"), ("H", "C"), ("U", "C"), ("U", "Us"), ("U", "R"), ("R", "C"), ("Us", "C")]:
        differences = paired(results, one, other)
        if differences:
            found = (report.mean(differences), report.interval(report.mean, differences))
            rows.append([f"{one} - {other}", report.cell(found), f"{sign_flips(differences):.4f}", str(len(differences))])
    print(report.table(["pass@1", "difference", "p", "seeds"], rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, help="the folder of the runs, or a file that --keep wrote")
    parser.add_argument("--seeds", type=second.numbers, default="11-20")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    runs = read(options.results)
    if options.keep:
        keep(options.keep, runs)
    results = {}
    for (arm, seed), run in runs.items():
        if seed in options.seeds:
            results.setdefault(arm, {})[seed] = run
    arms = [arm for arm in ARMS if arm in results]
    policy = ["greedy", "pass@1", "pass@8"]
    rows = [
        [arm]
        + [report.cell(report.measured(results, arm, key)) for key in policy]
        + [report.cell(report.beyond(results, arm)), report.cell(report.closed(results, arm), 2)]
        for arm in arms
    ]
    print(report.table(["arm", *policy, "pass@1 less C's", "gap closed"], rows))
    tests(results)
    judge = {
        "within problems, at the start": "judge_before",
        "its lower bound": "bound_before",
        "in the last 60 steps": "judge",
        "weight then": "weight",
        "self-given less true reward": "gap",
        "pairs ranked rightly, at the start": "ranking_before",
        "in the last steps": "ranking",
        "length with self-given reward": "length",
        "entropy": "entropy",
    }
    found = {name: [report.measured(results, arm, key) for arm in arms] for name, key in judge.items()}
    found = {name: cells for name, cells in found.items() if any(cells)}
    rows = [[arm] + [report.cell(cells[at]) for cells in found.values()] for at, arm in enumerate(arms)]
    print(report.table(["arm", *found], rows))
    rows = []
    for arm in arms:
        seconds, tokens = (report.measured(results, arm, key)[0] for key in ("seconds", "tokens"))
        exact = max(result["exact"] for result in results[arm].values())
        rows.append([arm, str(len(results[arm])), f"{seconds:.0f}", f"{tokens:,.0f}", f"{exact:g}"])
    print(report.table(["arm", "seeds", "seconds", "tokens sampled", "max_abs_dlogp"], rows))


if __name__ == "__main__":
    main()
