"""Writes countdown problems beside this file: `warm.jsonl` has solutions, `train.jsonl` and `held_out.jsonl` have tests, and
`critiques.jsonl` has critiques of right and wrong solutions in the wordings of `[method.crl]`."""

import json
import random
import re
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

# As in trainer/templates/crl.toml.
CRITIQUES = [
    """Criticise a solution.

Problem:
> PROBLEM

Solution:
> SOLUTION

Go through the solution, say what it does and where it fails, if it does. \
Close with \\conclusion{T} if the solution is correct and with \\conclusion{F} if it is not.""",
    """Problem:
> PROBLEM

A solution was proposed:
> SOLUTION

Would it pass a strict review? Write the review. \
Its last words are \\conclusion{T} for a solution that passes, or \\conclusion{F} for one that does not.""",
]


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


def critique(generator, prompt):
    """A critique of a program with the problem's numbers, right or wrong."""
    target, first, second = map(int, re.findall("[0-9]+", prompt))
    programs = [f"{left}{sign}{right}" for sign in "+-*" for left, right in [(first, second), (second, first)]]
    right = [expression for expression in programs if eval(expression) == target]
    is_right = bool(right) and generator.random() < 0.5
    expression = generator.choice(right if is_right else [own for own in programs if own not in right])
    words = generator.choice(CRITIQUES).replace("PROBLEM", prompt).replace("SOLUTION", f'e = "{expression}"')
    verdict = "T" if is_right else "F"
    return {"prompt": words, "completion": f"{expression} is {eval(expression)}. \\conclusion{{{verdict}}}"}


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
    with open(FOLDER / "critiques.jsonl", "w") as file:
        for prompt, _, _ in train[300:]:
            file.write(json.dumps(critique(generator, prompt)) + "\n")


main()
