#!/usr/bin/env python3
"""Runs every run file of examples/ as it stands, and measures what each says is expected of it.

    python3 bench/examples.py TRIBUNAL FOLDER [--seeds 1-5] [--all-seeds] [--only NAME ...] [--jobs N]

A name is a path below examples/, such as `training/odf`, or its last part. A file whose expectation makes a claim beyond finite
numbers (CLAIMS below) runs with every seed, the others with the first alone, or with every seed too by --all-seeds. A claim that
is made against a control has a second run with the same seed.

The checkout stays clean: FOLDER/examples has copies of the scripts, their rows, a run file for each run (`odf.2.toml`, and
`odf.2.control.toml`), its output (`odf.2.log`) and its folder (`runs/odf.2`). Rows, and what `tribunal score`, `filter` and
`denoise` make of them by the commands in the run file or on its page, are made once and are the same for all seeds; so are the
problems of `[[data]]` and `[[evaluation.data]]`, which have seeds of their own. A run that others start from, such as `sql-warm`,
is made once for each seed and is the start of all runs of that seed.

A run that is complete in FOLDER is not made again unless its run file changed, and one that was cut short starts anew. Take a
new FOLDER for another program, other rows or another start. FOLDER/results.jsonl, one object for each file and seed, and the
table at the end are of all complete runs in FOLDER. With --jobs runs share the cores, and seconds are those under that load. The
exit status is 1 if a run failed, whether or not expectations held. Needs nothing but Python's standard library.
"""

import argparse
import concurrent.futures
import dataclasses
import itertools
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"


# Expectations: each function gets the log of a run, and that of its control if it has one, and returns whether the expectation
# held and the figures that say so.


def loss_falls(run, key="loss"):
    before, after = run.first(key, 3), run.last(key, 3)
    return after < before, {f"{key}, first 3 steps": before, "last 3": after}


def held_out_loss_falls(run):
    before, after = run.held_out("loss")
    return after < before, {"held-out loss before": before, "after": after}


def judge_learns(run):
    falls, figures = held_out_loss_falls(run)
    auroc = run.held_out("judge/slips/auroc")
    return falls and auroc[1] > 0.5, figures | {"auroc before": auroc[0], "auroc after": auroc[1]}


def held_out_answers_improve(run, key="pass@1"):
    before, after = run.held_out(key)
    return after > before, {f"{key} before": before, "after": after}


def reward_rises_by_form(run):
    """A reward is 1, 0, or -1 out of form, so that the share of right replies less the mean reward is the share out of form."""
    first, last = run.first("reward", 3), run.last("reward", 3)
    out_first, out_last = run.first("right_share", 3) - first, run.last("right_share", 3) - last
    figures = {"reward, first 3 steps": first, "last 3": last, "out of form, first 3": out_first, "out of form, last 3": out_last}
    return last > first and out_last < out_first, figures


def groups_always_wait(run):
    least = min(run.values("partial/waiting"))
    return least > 0, {"least partial/waiting": least}


def some_responses_are_not_drawn(run):
    shares = run.values("filtration/distinct")
    return max(shares) < 1, {"filtration/distinct, mean": statistics.mean(shares), "greatest": max(shares)}


def open_rows_enter(run):
    first = next((step["step"] for step in run.steps if step["urpo/open"]), math.inf)
    return 3 <= first <= 8, {"first step with open rows": first, "open rows of the last step": run.last("urpo/open", 1)}


def discard_rate_nears_its_share(run):
    """The rate is a running mean from 0 with a weight of 0.1 for the newest step: it is to end nearer to the share than to 0."""
    share = sum(run.values("groups/zero_variance")) / sum(run.values("groups/sampled"))
    first, last = run.first("groups/discard_rate", 1), run.last("groups/discard_rate", 1)
    return abs(last - share) < last, {"discard_rate, step 1": first, "last": last, "share of groups of equal rewards": share}


def unsolved_level_is_drawn_less(run):
    share = run.last("curriculum/6", 1)
    return share < 1 / 6, {"curriculum/6 at the end": share}


def pairs_are_learnt(run):
    accuracy = run.last("preference/accuracy", 5)
    return accuracy > 0.5, {"preference/accuracy, last 5 steps": accuracy}


def pairs_are_learnt_as_unweighted(run, control):
    after, other = (log.held_out("preference/accuracy")[1] for log in (run, control))
    return after > 0.5 and other > 0.5, {"held-out preference/accuracy": after, 'with weights = "none"': other}


def clean_pairs_are_no_worse(run, control):
    after, other = (log.held_out("preference/accuracy")[1] for log in (run, control))
    return after > 0.5 and after >= other, {"held-out preference/accuracy": after, "with noisy.jsonl": other}


def batches_are_full(run, control):
    full, other = (statistics.mean(n == 4 for n in log.values("groups/teaching")) for log in (run, control))
    return full > 0.5 > other, {"share of steps with 4 groups": full, "without fill": other}


def problems_are_nearer_to_one_half(run, control):
    share, other = run.last("right_share", 5), control.last("right_share", 5)
    return abs(share - 0.5) < abs(other - 0.5), {"right_share, last 5 steps": share, "without curriculum": other}


def entropy_is_above_psr(run, control):
    entropy, other = run.last("entropy", 5), control.last("entropy", 5)
    return entropy > other, {"entropy, last 5 steps": entropy, "of PSR": other}


@dataclasses.dataclass(frozen=True)
class Claim:
    """How an expectation is measured, and what the control has in the place of a text of the run file."""

    measure: object
    control: tuple[str, str] | None = None


PCL = 'curriculum = { kind = "pcl", candidates = 4, value = { rate = 1e-3 } }\n'

# Of every other example nothing but finite numbers is expected.
CLAIMS = {
    "countdown/code": Claim(held_out_answers_improve),
    "countdown/crl-warm": Claim(lambda run: loss_falls(run, "loss/rows")),
    "countdown/warm": Claim(loss_falls),
    "prlcoder/lines": Claim(loss_falls),
    "prlcoder/warm": Claim(loss_falls),
    "training/april": Claim(groups_always_wait),
    "training/cft": Claim(held_out_loss_falls),
    "training/codev-r1": Claim(discard_rate_nears_its_share),
    "training/mars-sql": Claim(reward_rises_by_form),
    "training/odf": Claim(batches_are_full, ("fill = { rounds = 8 }\n", "")),
    "training/pcl": Claim(problems_are_nearer_to_one_half, (PCL, "")),
    "training/pf-ppo": Claim(some_responses_are_not_drawn),
    "training/plug-and-play": Claim(judge_learns),
    "training/rlbff": Claim(held_out_loss_falls),
    "training/sec": Claim(unsolved_level_is_drawn_less),
    "training/secrets": Claim(clean_pairs_are_no_worse, ('path = "clean.jsonl"', 'path = "noisy.jsonl"')),
    "training/sql-warm": Claim(loss_falls),
    "training/tool-verifier": Claim(lambda run: held_out_answers_improve(run, "greedy")),
    "training/tp-grpo-warm": Claim(loss_falls),
    "training/urpo": Claim(open_rows_enter),
    "training/verilog-warm": Claim(loss_falls),
    "training/verirl": Claim(pairs_are_learnt),
    "training/w-dpo": Claim(pairs_are_learnt_as_unweighted, ('weights = "w_dpo"', 'weights = "none"')),
    "training/w-reinforce": Claim(entropy_is_above_psr, ("negative = 1.0", "negative = 0.0")),
    "training/wpo": Claim(pairs_are_learnt_as_unweighted, ('weights = "wpo"', 'weights = "none"')),
}

# Commands that stand on a page and not in the run file: the page, and the heading above them.
PAGES = {"prlcoder/lines": ("docs/training.md", "## A reward model of lines")}
COMMAND = re.compile(r'^tribunal (?:score|filter|denoise) (?:"(?:\\.|[^"\\])*"|\\\n|[^"\n])*', re.MULTILINE | re.DOTALL)
PREPARING = threading.Lock()


class Log:
    """What a run logged: an object for each step, and for each evaluation. A number that was not finite is null there."""

    def __init__(self, place):
        files = (place / "metrics.jsonl", place / "evaluations.jsonl")
        self.steps, self.evaluations = ([json.loads(line) for line in file.read_text().splitlines()] for file in files)
        self.items = [item for line in self.steps + self.evaluations for item in line.items()]

    def values(self, key):
        """Returns the numbers of the steps that have the key."""
        found = [math.nan if step[key] is None else step[key] for step in self.steps if key in step]
        if not found:
            raise LookupError(f"no step logs `{key}`")
        return found

    def first(self, key, count):
        return statistics.mean(self.values(key)[:count])

    def last(self, key, count):
        return statistics.mean(self.values(key)[-count:])

    def held_out(self, key):
        """Returns the figures of the evaluation before the first step, and of that after the last one."""
        first, last = self.evaluations[0], self.evaluations[-1]
        if (first["step"], last["step"]) != (0, self.steps[-1]["step"]):
            raise LookupError("there is no evaluation before the first step or after the last one")
        return [math.nan if line[key] is None else line[key] for line in (first, last)]


@dataclasses.dataclass(frozen=True)
class Run:
    """A run of an example with a seed, or its control."""

    example: str
    seed: int
    is_control: bool = False

    def __str__(self):
        return f"{self.example}.{self.seed}" + (".control" if self.is_control else "")

    def file(self, folder):
        return folder / "examples" / f"{self}.toml"

    def place(self, folder):
        return self.file(folder).parent / "runs" / self.file(folder).stem

    def text(self):
        """Makes the run file: with this seed, a folder of its own, and the starts of this seed."""
        text, own = source(self.example), f"runs/{self.file(ROOT).stem}"
        if self.is_control:
            text = replaced(text, *CLAIMS[self.example].control)
        head = re.search(r'^\[run\]\nfolder = "runs/[^"]+"\n(steps = \d+\n)seed = \d+\n', text, re.MULTILINE)
        text = replaced(text, head[0], f'[run]\nfolder = "{own}"\n{head[1]}seed = {self.seed}\n')
        # A run makes its start in its own folder: two that make the same one at once get in each other's way.
        for made in re.findall(r'^path = "([^"]+)"\nmake = ', text, re.MULTILINE):
            text = text.replace(f'"{made}"', f'"{own}/start"')
        return re.sub(r'"runs/([^"/]+)/step-', rf'"runs/\1.{self.seed}/step-', text)

    def starts(self):
        """Finds the runs whose checkpoints this one reads."""
        names = re.findall(r'"runs/([^"/]+)/step-', source(self.example))
        return {Run(f"{self.example.rpartition('/')[0]}/{name}", self.seed) for name in names}

    def depth(self):
        return max((start.depth() + 1 for start in self.starts()), default=0)

    def is_complete(self, folder):
        return (self.place(folder) / "seconds").exists() and self.file(folder).read_text() == self.text()


def replaced(text, old, new):
    if text.count(old) != 1:
        sys.exit(f"{old!r} stands {text.count(old)} times in a run file, and is to be replaced once")
    return text.replace(old, new)


def source(example):
    return (EXAMPLES / f"{example}.toml").read_text()


def comment(example):
    """Reads the lines of comment at the beginning of a run file, without their marks."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), source(example).splitlines())
    return "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines)


def check_claims(examples):
    """Refuses an expectation without an entry: one that names a key of the log, or says more than that numbers stay finite."""
    problems = [f"{name}: in CLAIMS, and no example" for name in CLAIMS.keys() - set(examples)]
    for name in examples:
        expected = " ".join(comment(name).partition("Expected: ")[2].split())
        is_finite_only = "stays finite" in expected and "`" not in expected
        if is_finite_only == (name in CLAIMS):
            problems.append(f"{name}: {'in' if is_finite_only else 'not in'} CLAIMS, with `# Expected: {expected}`")
    if problems:
        sys.exit("\n".join(problems))


def commands(example):
    """Reads the commands that make the rows of an example, as lists of words."""
    text = comment(example)
    if example in PAGES:
        page, heading = PAGES[example]
        text = (ROOT / page).read_text().partition(heading)[2].partition("\n## ")[0]
    return [shlex.split(command.replace("\\\n", " ")) for command in COMMAND.findall(text)]


def failure(what, ended, text):
    return "\n    ".join([f"{what} ended with {ended.returncode}", *text.splitlines()[-8:]])


def prepare(options, example):
    """Makes the rows of an example by its commands, unless they are there. Returns why one failed."""
    # Commands of a run file are meant for its folder, those of a page for the folder above examples/.
    place = options.folder if example in PAGES else (options.folder / "examples" / example).parent
    for words in commands(example):
        if not (place / words[words.index("-o") + 1]).exists():
            ended = subprocess.run([options.tribunal, *words[1:]], cwd=place, capture_output=True, text=True, check=False)
            if ended.returncode != 0:
                return failure(shlex.join(words), ended, ended.stderr)
    return None


def train(options, run, starts):
    """Makes a run after those that it starts from, unless it is complete. Returns why it failed."""
    if lost := [str(start) for start, reason in starts.items() if reason.result()]:
        return f"it starts from {', '.join(lost)}, which failed"
    place, file = run.place(options.folder), run.file(options.folder)
    if run.is_complete(options.folder):
        return None
    with PREPARING:
        if reason := prepare(options, run.example):
            return reason
    # What a stopped run left goes before the file is written: the folder of a run file is always that of its text.
    shutil.rmtree(place, ignore_errors=True)
    file.write_text(run.text())
    threads = max(1, len(os.sched_getaffinity(0)) // options.jobs)
    environment = dict(os.environ, RAYON_NUM_THREADS=str(threads))
    begin = time.monotonic()
    with open(file.with_suffix(".log"), "w") as log:
        command = [options.tribunal, "train", str(file)]
        ended = subprocess.run(command, stdout=log, stderr=log, env=environment, check=False)
    seconds = f"{time.monotonic() - begin:.1f}"
    print(f"{run}: {seconds} s{', failed' if ended.returncode else ''}", flush=True)
    if ended.returncode != 0:
        return failure("tribunal train", ended, file.with_suffix(".log").read_text())
    (place / "seconds.partial").write_text(seconds)
    (place / "seconds.partial").rename(place / "seconds")
    return None


def train_all(options, runs):
    """Makes the runs, whose order has starts first. Returns why runs failed."""
    futures = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        try:
            for run in runs:
                futures[run] = pool.submit(train, options, run, {start: futures[start] for start in run.starts()})
            return {str(run): reason for run, future in futures.items() if (reason := future.result())}
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise


def controlled(example, seed):
    """Lists the run of an example, and its control if it has one."""
    has_control = example in CLAIMS and CLAIMS[example].control
    return [Run(example, seed), Run(example, seed, True)] if has_control else [Run(example, seed)]


def measured(folder, runs):
    """Measures a complete run, with its control."""
    logs = [Log(run.place(folder)) for run in runs]
    items = [item for log in logs for item in log.items]
    bad = sorted({key for key, value in items if value is None or not math.isfinite(value)})
    # Of the policy's updates, and of those on judge data.
    dlogp = [value for key, value in items if key.split("/")[-1] == "max_abs_dlogp" and value is not None]
    example = runs[0].example
    holds, figures = CLAIMS[example].measure(*logs) if example in CLAIMS else (True, {})
    return dict(
        name=example,
        seed=runs[0].seed,
        seconds=float((runs[0].place(folder) / "seconds").read_text()),
        steps=len(logs[0].steps),
        finite=not bad,
        not_finite=bad,
        max_abs_dlogp=max(dlogp, default=None),
        figures={key: value if math.isfinite(value) else None for key, value in figures.items()},
        held=holds and not bad,
    )


def row(name, found):
    """Formats a row of the table. Figures are medians over seeds, with the least and the greatest in parentheses."""
    figures = []
    for key in found[0]["figures"]:
        values = [result["figures"][key] for result in found if result["figures"][key] is not None]
        spread = f" ({min(values):.3g} to {max(values):.3g})" if len(values) > 1 else ""
        figures.append(f"{key}: {statistics.median(values):.3g}{spread}" if values else f"{key}: none")
    seconds = statistics.median(result["seconds"] for result in found)
    bad = sorted({key for result in found for key in result["not_finite"]})
    dlogp = [result["max_abs_dlogp"] for result in found if result["max_abs_dlogp"] is not None]
    held = f"held in {sum(result['held'] for result in found)} of {len(found)} seeds"
    cells = [f"not {', '.join(bad)}" if bad else "yes", f"{max(dlogp):g}" if dlogp else "", "; ".join(figures), held]
    return f"| {name} | {len(found)} | {seconds:.0f} | {' | '.join(cells)} |"


def report(folder, examples):
    """Writes results.jsonl and prints the table. Returns why complete runs could not be measured."""
    results, failed = {}, {}
    for example in examples:
        files = (folder / "examples").glob(f"{example}.*.toml")
        for seed in sorted({int(file.name.split(".")[1]) for file in files}):
            runs = controlled(example, seed)
            if all(run.is_complete(folder) for run in runs):
                try:
                    results.setdefault(example, []).append(measured(folder, runs))
                except LookupError as error:
                    failed[str(runs[0])] = f"its expectation cannot be measured: {error}"
    lines = [json.dumps(result) + "\n" for found in results.values() for result in found]
    (folder / "results.jsonl").write_text("".join(lines))
    print("\n| run file | seeds | seconds | finite | max_abs_dlogp | measured | expectation |\n|---|---:|---:|---|---:|---|---|")
    print("\n".join(row(example, found) for example, found in results.items()))
    return failed


def numbers(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def selected(options, examples):
    """Lists the runs of examples, their controls, and what they start from, in an order that has starts first."""
    runs = set()
    for example in examples:
        for seed in options.seeds if example in CLAIMS or options.all_seeds else options.seeds[:1]:
            runs |= set(controlled(example, seed))
    while starts := {start for run in runs for start in run.starts()} - runs:
        runs |= starts
    # Seed by seed, so that the seeds that are there after an interruption are whole.
    return sorted(runs, key=lambda run: (run.seed, run.depth(), str(run)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tribunal", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("folder", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--seeds", type=numbers, default="1-5")
    parser.add_argument("--all-seeds", action="store_true", help="every seed for examples without a claim too")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, each with its share of the cores")
    options = parser.parse_args()
    examples = sorted(str(path.relative_to(EXAMPLES).with_suffix("")) for path in EXAMPLES.glob("*/*.toml"))
    check_claims(examples)
    named = {example for example in examples if {example, example.rpartition("/")[2]} & set(options.only)}
    if unknown := set(options.only) - {part for example in named for part in (example, example.rpartition("/")[2])}:
        parser.error(f"no example is named {', '.join(sorted(unknown))}")
    chosen = [example for example in examples if example in named or not options.only]
    needs = {example: re.findall(r"needs `(\w+)`", comment(example)) for example in chosen}
    absent = {example: lost for example, own in needs.items() if (lost := [word for word in own if not shutil.which(word)])}
    ignored = shutil.ignore_patterns("runs", "*.json*", "__pycache__")
    shutil.copytree(EXAMPLES, options.folder / "examples", ignore=ignored, dirs_exist_ok=True)
    for script in sorted((options.folder / "examples").glob("*/*.py")):
        subprocess.run([sys.executable, str(script)], check=True)
    failed = train_all(options, selected(options, [example for example in chosen if example not in absent]))
    failed |= report(options.folder, examples)
    for example, lost in absent.items():
        print(f"\nskipped: {example}, which needs {', '.join(lost)}")
    for name, reason in failed.items():
        print(f"\nfailed: {name}: {reason}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
