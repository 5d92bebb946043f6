"""Writes rows for tool-verifier.toml beside this file: a solution, a reference, and whether both agree."""

import json
import random
from pathlib import Path

FOLDER = Path(__file__).parent


def row(generator):
    """Answers of four digits, twice as many as the model was trained to compare."""
    a, b = (generator.randint(100, 4999) for _ in range(2))
    answer = a + b
    stated = answer if generator.random() < 0.5 else answer + generator.choice([-100, -10, -1, 1, 10, 100])
    solution = f"{a}+{b}={stated}\nAnswer: {stated}"
    turns = [("user", f"{a}+{b} mod 10000"), ("assistant", solution), ("reference", str(answer)), ("tools", "")]
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
