#!/usr/bin/env python3
"""The model that the arms of docs/coevolution.md begin with.

    python3 bench/coevolution/start.py TRIBUNAL FOLDER CHECKPOINTS [--pass 0.4]

Measures checkpoints of a supervised run (for the study, of `models/assets/tribunal-tiny/third.toml` at commit `2c0c1e54`, the third
of the runs that made the first model of the program) one after the other, and takes the first that solves
so many problems at the first try as `FOLDER/base`. What it writes to 400 problems that no training sees
becomes `FOLDER/base_errors.jsonl`, the frozen set of its own mistakes. Needs nothing but Python's standard
library.
"""

import argparse
import json
import pathlib
import shutil
import subprocess

import arms


def measured(options, place, checkpoint, save=None):
    """What a checkpoint can do: a run of one step that moves nothing, and its evaluation."""
    place.mkdir(parents=True, exist_ok=True)
    text = arms.run_file("A", 0, checkpoint, options)
    if save:
        text = text.replace('set = "policy"', f'set = "policy"\npath = "{save}"')
    (place / "run.toml").write_text(text)
    with open(place / "log", "w") as log:
        command = [options.tribunal, "train", str(place / "run.toml")]
        subprocess.run(command, stdout=log, stderr=log, env=arms.one_thread(), check=True)
    lines = (place / "evaluations.jsonl").read_text().splitlines()
    return json.loads(lines[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tribunal")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("checkpoints", type=pathlib.Path)
    parser.add_argument("--pass", dest="wanted", type=float, default=0.4)
    options = parser.parse_args()
    options.steps, options.rate, options.adapter_rate = 1, "1e-30", "1e-30"
    folder = options.folder.resolve()
    for checkpoint in sorted(options.checkpoints.resolve().glob("step-??????")):
        found = measured(options, folder / "measured" / checkpoint.name, checkpoint)
        shown = {key: round(value, 3) for key, value in found.items() if key != "time"}
        print(checkpoint.name, json.dumps(shown), flush=True)
        if found["pass@1"] >= options.wanted:
            shutil.copytree(checkpoint, folder / "base")
            measured(options, folder / "measured" / "base", folder / "base", folder / "base_errors.jsonl")
            return
    raise SystemExit(f"no checkpoint solves {options.wanted} of the problems")


if __name__ == "__main__":
    main()
