#!/usr/bin/env python3
"""How well the judges that arms.py left tell right from wrong answers to one problem.

    python3 bench/coevolution/within.py TRIBUNAL FOLDER

Advantages compare the answers of one group, so that this, and not how well hard problems are told from easy ones, is what
a policy learns from its judge. Eight answers of the start to each of 100 problems are judged by every checkpoint in
FOLDER; FOLDER/within.jsonl has a line for each. Needs nothing but Python's standard library.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import arms

FILE = """
[run]
folder = "run"
steps = 1

[policy]
path = "{model}"
{adapters}
[optimiser]
rate = 1e-30

[[data]]
kind = "chains"
count = 8
lengths = [2, 5]

[method]
kind = "policy_gradient"
prompts = 1
group = 2
max_tokens = 64
scorer = "math"
no_progress_after = 0

[[scorer]]
name = "judge"
kind = "validate"
model = "{judging}"

[evaluation]
data = [ {{ kind = "chains", count = 1, held_out = true, lengths = [2, 5], seed = 1000 }} ]
samples = 1

[[evaluation.judge]]
name = "start"
set = "{kind}"
count = 800
samples = 8
lengths = [2, 5]
seed = 3000
scorer = "judge"
path = "{cases}"
"""

ADAPTERS = """
[[policy.adapter]]
name = "judge-adapter"
path = "{path}"
"""


def evaluate(tribunal, model, cases, judge_adapter=None):
    """The figures of a checkpoint's judge; where there are no cases yet it writes them."""
    kind = "file" if cases.exists() else "policy"
    adapters = ADAPTERS.format(path=judge_adapter) if judge_adapter else ""
    judging = "judge-adapter" if judge_adapter else "policy"
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "run.toml"
        file.write_text(FILE.format(model=model, kind=kind, cases=cases, adapters=adapters, judging=judging))
        subprocess.run([tribunal, "train", str(file)], check=True, capture_output=True, env=arms.one_thread())
        last = (pathlib.Path(folder) / "run" / "evaluations.jsonl").read_text().splitlines()[-1]
    return {key.removeprefix("judge/start/"): value for key, value in json.loads(last).items() if "judge/start/" in key}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tribunal")
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    folder = options.folder.resolve()
    start, cases = arms.start_of(folder), folder / "start_groups.jsonl"
    evaluate(options.tribunal, start, cases)
    with open(folder / "within.jsonl", "w") as out:
        for result in sorted(folder.glob("*/result.json")):
            name, seed = result.parent.name.rsplit("-", 1)
            checkpoint = max(result.parent.glob("step-*"))
            adapter = checkpoint / "adapters" / "judge-adapter"
            model, adapter = (start, adapter) if adapter.exists() else (checkpoint, None)
            figures = evaluate(options.tribunal, model, cases, adapter)
            line = dict(arm=name, seed=int(seed), **figures)
            print(f"{name}-{seed}: within problems {line['within_problems']:.3f}, over all {line['auroc']:.3f}", flush=True)
            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
