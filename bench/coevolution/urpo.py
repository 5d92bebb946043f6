#!/usr/bin/env python3
"""URPO on the task of the second study: one adapter solves and ranks. Its start, its arms, and what they measured.

    python3 bench/coevolution/urpo.py start TRIBUNAL FOLDER
    python3 bench/coevolution/urpo.py run TRIBUNAL FOLDER [--seeds 11-20] [--jobs 2] [--arms B,C,...]

As second.py, but the start has also learnt to score 2 to 8 solutions to one problem in a list, and learns on from the ranks of its
own answers to the labelled problems. second_report.py makes the tables. Needs nothing but Python's standard library.
"""

import random

import countdown
import gates
import second

# A third of the ranked rows, those of the gate's problems, measures the ranking.
URPO = """
[method.urpo]
templates = "compact"
mix = {{ verifiable = 1, preference = 1, open = {open} }}
open = {{ rule = "gate", accuracy = {gate} }}
held_out = 0.333

[method.urpo.rank_judge]
format = "object"
calls = 2
"""

# What sets each arm apart. Arms without a referee train on the gate's problems as well.
ARMS = {
    "A": dict(still=True),
    "B": dict(verified=True),
    "C": dict(),
    "R": dict(ranks="ranked", open=0),
    "U": dict(ranks="ranked", open=2),
    "Us": dict(ranks="shuffled", open=2),
}

LOGGED = ["right_share", "reward", "entropy", "rollout/tokens", "max_abs_dlogp"]
LOGGED += ["referee/reward", "referee/held_out_accuracy", "urpo/open", "open/length_correlation", "open/unreadable", "open/no_spread"]
LOGGED += ["open/rollout/tokens", "referee/rollout/tokens"]

CANDIDATES = 4


def write_start(folder, ranked=16000, seed=78):
    """Supervised rows of the start: those of second.py, and scores for several right and wrong solutions."""
    countdown.write_start(folder)
    rng = random.Random(seed)
    rows = []
    for prompt, numbers, target, right in countdown.problems(1, ranked, False):
        is_right = [rng.random() < 0.4 for _ in range(rng.randint(2, 8))]
        texts = [rng.choice(right) if own else countdown.wrong(rng, numbers, target, right) for own in is_right]
        turns = [("user", prompt), *(("assistant", text) for text in texts), ("list", "")]
        messages = [dict(role=role, content=content) for role, content in turns]
        scores = ",".join("10" if own else "0" for own in is_right)
        rows.append(dict(prompt=messages, completion=f'{{"scores":[{scores}]}}'))
    countdown.write(folder / "lists.jsonl", rows)


def ranked_rows(url, options, problems, rng):
    """Right and wrong answers of the start to each problem; a problem without both gets a solution or a wrong one beside them."""
    rows = []
    for at, (prompt, numbers, target, right) in enumerate(problems):
        texts = list(dict.fromkeys(text.strip() for text in gates.answers(url, options, prompt, at) if text.strip()))
        good = [text for text in texts if text in right] or [rng.choice(right)]
        bad = [text for text in texts if text not in right] or [countdown.wrong(rng, numbers, target, right)]
        half = CANDIDATES // 2
        candidates = good[:half] + bad[: CANDIDATES - len(good[:half])]
        ranks = [1 if text in right else 2 for text in candidates]
        rows.append(dict(prompt=prompt, candidates=candidates, gold_rank=ranks))
    return rows


def rows(options, seed, url):
    """The rows of second.py, and beside them those of ranking, with true and with shuffled ranks, and open ones."""
    place = second.rows(options, seed)
    if (place / "open.jsonl").exists():
        return
    known = options.labelled + options.gate
    found = countdown.problems(5000 + seed, known + options.unlabelled, False)
    rng = random.Random(seed)
    ranked = ranked_rows(url, options, found[:known], rng)
    countdown.write(place / "ranked.jsonl", ranked)
    shuffled = [dict(row, gold_rank=rng.sample(row["gold_rank"], len(row["gold_rank"]))) for row in ranked[: options.labelled]]
    countdown.write(place / "shuffled.jsonl", shuffled + ranked[options.labelled :])
    labelled = (place / "labelled.jsonl").read_text().splitlines(keepends=True)
    (place / "without-gate.jsonl").write_text("".join(labelled[: options.labelled]))
    countdown.write(place / "open.jsonl", [dict(prompt=prompt, kind="open") for prompt, *_ in found[known:]])


def run_file(options, name, seed):
    arm, place = ARMS[name], options.folder / "data" / str(seed)
    still, ranks, verified = (arm.get(key) for key in ("still", "ranks", "verified"))
    files = ["without-gate" if ranks else "labelled"]
    files += ["verified"] if verified else []
    files += [ranks] if ranks else []
    files += ["open"] if arm.get("open") else []
    method = 'max_tokens = 48\nadvantage = { kind = "mean" }\n'
    method += second.CURRICULUM.format(options.share, 1 - options.share) if verified else ""
    method += URPO.format(open=arm["open"], gate=options.accuracy) if ranks else ""
    data = "".join(second.DATA.format(place / f"{file}.jsonl") for file in files)
    return second.common(options, seed, still, data=data, method=method, adapters="", scorers="")


def main():
    parser = second.parser(__doc__, ARMS)
    parser.add_argument("--accuracy", type=float, default=0.65, help="of the ranking, above which open rows are used")
    options = parser.parse_args()
    if options.command == "start":
        return second.start(options, write_start, ("solve", "judge", "lists"), steps=2000)
    options.samples, options.adapter = 4, None
    with gates.served(options) as url:
        for seed in options.seeds:
            rows(options, seed, url)
    second.run_all(options, run_file, LOGGED)


if __name__ == "__main__":
    main()
