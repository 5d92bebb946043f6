"""Writes programs of a few lines and mutants of single lines beside this file.

`warm.jsonl` has right programs, `train.jsonl` and `held_out.jsonl` have tests, and `lines.jsonl` has programs of which one
line was changed by a rule: by a wrong one or by one that computes the same. Which of both it is, is for the tests to say.
"""

import json
import random
from pathlib import Path

FOLDER = Path(__file__).parent
WORDS = {"+": "add", "-": "take", "*": "times"}


def draw(generator):
    """A prompt, and the lines of a program that does what it says."""
    first = generator.randint(2, 30)
    words, lines = [f"start at {first}"], [f"x = {first}"]
    for _ in range(2):
        operator = generator.choice("+-*")
        number = generator.randint(2, 9 if operator == "*" else 30)
        words.append(f"{WORDS[operator]} {number}")
        lines.append(f"x = x {operator} {number}")
    return ", ".join(words), lines


def reference(lines):
    """Tests of the value that right lines compute."""
    scope = {}
    exec("\n".join(lines), scope)
    return {"test_code": f"from solution import x\n\ndef test_value():\n    assert x == {scope['x']}\n"}


def mutated(generator, line):
    """A line that computes something else, most likely."""
    left, operator, number = line.rpartition(" ")[0], line.split()[-2], line.split()[-1]
    if operator != "=" and generator.random() < 0.5:
        other = generator.choice([word for word in WORDS if word != operator])
        return f"x = x {other} {number}"
    return f"{left} {int(number) + generator.choice([-10, -1, 1, 10])}"


def refactored(generator, line):
    """A line that computes the same."""
    operator, number = line.split()[-2], line.split()[-1]
    if operator == "=":
        return f"x = 1 * {number}"
    forms = [f"x {operator}= {number}", f"x = (x {operator} {number})"]
    if operator in "+*":
        forms.append(f"x = {number} {operator} x")
    return generator.choice(forms)


def main():
    generator, programs = random.Random(1), {}
    while len(programs) < 1000:
        prompt, lines = draw(generator)
        programs[prompt] = lines
    programs = list(programs.items())
    for name, chosen in [("held_out", programs[:100]), ("train", programs[100:])]:
        with open(FOLDER / f"{name}.jsonl", "w") as file:
            for prompt, lines in chosen:
                file.write(json.dumps({"prompt": prompt, "reference": reference(lines)}) + "\n")
    with open(FOLDER / "warm.jsonl", "w") as file:
        for prompt, lines in programs[100:400]:
            file.write(json.dumps({"prompt": prompt, "completion": "\n".join(lines)}) + "\n")
    with open(FOLDER / "lines.jsonl", "w") as file:
        for prompt, lines in programs[100:400]:
            for how in (mutated, mutated, refactored):
                at = generator.randrange(len(lines))
                changed = lines[:at] + [how(generator, lines[at])]
                row = {"prompt": prompt, "response": "\n".join(changed + lines[at + 1 :]), "reference": reference(lines)}
                # The process reward model sees the program up to the changed line.
                row |= {"how": how.__name__, "lines": changed, "before": [True] * at}
                file.write(json.dumps(row) + "\n")


main()
