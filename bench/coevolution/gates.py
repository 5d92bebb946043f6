#!/usr/bin/env python3
"""The gates of the second study that need no training: how well the start solves, and how well it judges its own answers.

    python3 bench/coevolution/gates.py TRIBUNAL FOLDER [--adapter FOLDER/B-1/step-000240/adapters/player]

Serves FOLDER/start, samples answers to held-out problems with numbers up to 20, as in training, and up to 40, and has it
judge them. With `--adapter` a trained policy writes the answers, and the start judges them. For each it prints the share of right answers; the share of problems with right and wrong ones; how often the judge
orders a right and a wrong answer to one problem correctly (the mean over problems, with a 95 % bootstrap interval over them); and the AUROC
over all answers of the judge beside a scorer that reads the prompt alone. What stands for the best of that kind is the share of right
ones among as many other answers to the prompt. Needs nothing but Python's standard library.
"""

import argparse
import contextlib
import json
import pathlib
import re
import subprocess
import urllib.request

import countdown
import report
import second

CONFIG = """
[[model]]
name = "start"
path = "{path}"

[[scorer]]
name = "opinion"
kind = "validate"
model = "start"
min_label_mass = 0.0
"""


def ask(url, body):
    head = {"content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), head)
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.load(reply)


def answers(url, options, prompt, seed):
    model, samples = ("player" if options.adapter else "start"), 2 * options.samples
    body = dict(model=model, messages=[dict(role="user", content=prompt)], n=samples, max_tokens=32, temperature=1, seed=seed)
    return [choice["message"]["content"] for choice in ask(f"{url}/v1/chat/completions", body)["choices"]]


def opinions(url, prompt, responses):
    inputs = [dict(prompt=prompt, response=response) for response in responses]
    return [result["score"] for result in ask(f"{url}/v1/score", dict(model="opinion", inputs=inputs))["results"]]


def auroc(cases):
    """The share of pairs of a right and a wrong answer that scores order correctly, ties by half; `None` without a pair."""
    right, wrong = ([score for score, is_right in cases if is_right == wanted] for wanted in (True, False))
    pairs = [(a > b) + (a == b) / 2 for a in right for b in wrong]
    return report.mean(pairs)


def measure(url, options, most):
    judged, by_prompt, within = [], [], []
    for at, (prompt, _, _, solutions) in enumerate(countdown.problems(4000, options.problems, True, most=most)):
        written = answers(url, options, prompt, at)
        is_right = [text.strip() in solutions for text in written]
        others, is_right = is_right[: options.samples], is_right[options.samples :]
        cases = list(zip(opinions(url, prompt, written[options.samples :]), is_right))
        judged += cases
        by_prompt += [(sum(others), own) for own in is_right]
        within.append(auroc(cases))
    told = [share for share in within if share is not None]
    return dict(
        most=most,
        right=report.mean([own for _, own in judged]),
        mixed=len(told) / len(within),
        within=(report.mean(told), report.interval(report.mean, told)),
        auroc=auroc(judged),
        auroc_of_prompts=auroc(by_prompt),
    )


@contextlib.contextmanager
def served(options):
    """Serves FOLDER/start, and the policy that writes the answers."""
    config = options.folder / "gates.toml"
    config.write_text(CONFIG.format(path=second.begun(options)))
    command = [options.tribunal, "serve", "--bind", "127.0.0.1:0", "--log", "warn", "--config", str(config)]
    command += ["--adapter", f"player=start:{options.adapter}"] if options.adapter else []
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield re.search(r"http://\S+", server.stdout.readline())[0]
    finally:
        server.terminate()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tribunal")
    parser.add_argument("folder", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--adapter", help="the policy that writes the answers")
    parser.add_argument("--problems", type=int, default=192)
    parser.add_argument("--samples", type=int, default=8)
    options = parser.parse_args()
    with served(options) as url:
        for most in (20, 40):
            print(json.dumps(measure(url, options, most)), flush=True)


if __name__ == "__main__":
    main()
