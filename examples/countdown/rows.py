"""Writes countdown problems beside this file: `warm.jsonl` has solutions, `train.jsonl` and `held_out.jsonl` have tests."""

import json
import random
from pathlib import Path

FOLDER = Path(__file__).parent

TESTS = """import re
from solution import e

def test_uses_each_number_once():
    assert re.fullmatch(r"[0-9+*/() -]{1,40}", e) and "**" not in e and "//" not in e
    assert sorted(map(int, re.findall("[0-9]+", e))) == NUMBERS

def test_reaches_the_target():
    assert re.fullmatch(r"[0-9+*/() -]{1,40}", e) and "**" not in e
    assert eval(e) == TARGET
"""


def draw(generator):
    """Numbers, and an expression that uses each once."""
    while True:
        numbers = [generator.randint(1, 25) for _ in range(2)]
        left, right = generator.sample(numbers, 2)
        expression = f"{left}{generator.choice('+-*/')}{right}"
        value = eval(expression)
        if value == int(value) and 1 <= value <= 99:
            return numbers, int(value), expression


def rows(generator, count, seen):
    while count:
        numbers, target, expression = draw(generator)
        prompt = f"Make {target} from {', '.join(map(str, numbers))}"
        if prompt in seen:
            continue
        seen.add(prompt)
        count -= 1
        tests = TESTS.replace("NUMBERS", str(sorted(numbers))).replace("TARGET", str(target))
        yield prompt, f'e = "{expression}"', {"test_code": tests}


def main():
    generator, seen = random.Random(1), set()
    held_out = list(rows(generator, 100, seen))
    train = list(rows(generator, 900, seen))
    for name, chosen in [("held_out", held_out), ("train", train)]:
        with open(FOLDER / f"{name}.jsonl", "w") as file:
            for prompt, _, tests in chosen:
                file.write(json.dumps({"prompt": prompt, "reference": tests}) + "\n")
    with open(FOLDER / "warm.jsonl", "w") as file:
        # A third of the rows, so that there is something left to learn.
        for prompt, solution, _ in train[:300]:
            file.write(json.dumps({"prompt": prompt, "completion": solution}) + "\n")


main()
