"""Writes rows for tool-verifier.toml beside this file: a solution, a reference, and whether both agree."""

import json
import random
from pathlib import Path

FOLDER = Path(__file__).parent


def row(generator):
    a, b, c = (generator.randint(1, 99) for _ in range(3))
    first = (a + b) % 100
    answer = (first + c) % 100
    stated = answer if generator.random() < 0.5 else (answer + generator.choice([1, 10, 90, 99])) % 100
    solution = f"{a}+{b}={first}\n{first}+{c}={stated}\nAnswer: {stated}"
    turns = [("user", f"{a}+{b}+{c} mod 100"), ("assistant", solution), ("reference", str(answer)), ("tools", "")]
    word = "Correct" if stated == answer else "Incorrect"
    prompt = [{"role": role, "content": text} for role, text in turns]
    # The last turn has the verdict and nothing else.
    return {"prompt": prompt, "answer": rf"(^|\n)\\boxed\{{\[{word}\]\}}$"}


def main():
    generator = random.Random(1)
    for name, count in [("agreement-held-out", 100), ("agreement", 500)]:
        with open(FOLDER / f"{name}.jsonl", "w") as file:
            for _ in range(count):
                file.write(json.dumps(row(generator)) + "\n")


main()
