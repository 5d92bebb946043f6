"""Writes products and sums of larger numbers beside this file: `warm.jsonl` has answers with and without the calculator,
`train.jsonl` and `held_out.jsonl` have problems."""

import json
import random
from pathlib import Path

FOLDER = Path(__file__).parent


def draw(generator):
    """An expression that the model cannot compute, and its value."""
    a, b, c = generator.randint(12, 99), generator.randint(12, 99), generator.randint(100, 999)
    return f"{a}*{b}+{c}", a * b + c


def call(expression):
    arguments = {"expression": expression}
    return f"<tool_call>{json.dumps({'name': 'calculator', 'arguments': arguments})}</tool_call>"


def warm(generator, expression, value):
    """Half of the answers are guessed; the others call the calculator and read its result."""
    question = {"role": "user", "content": expression}
    if generator.random() < 0.5:
        yield [question], f"Answer: {value}"
        return
    result = json.dumps({"status": "ok", "result": str(value)}, separators=(",", ":"))
    yield [question], call(expression)
    turns = [question, {"role": "assistant", "content": call(expression)}, {"role": "tool", "content": result}]
    yield turns, f"Answer: {value}"


def write(name, rows):
    with open(FOLDER / name, "w") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def main():
    generator, seen = random.Random(1), set()
    problems = []
    while len(problems) < 2600:
        expression, value = draw(generator)
        if expression not in seen:
            seen.add(expression)
            problems.append((expression, value))
    problem = lambda expression, value: {"prompt": expression, "answer": str(value)}
    write("held_out.jsonl", (problem(*each) for each in problems[:100]))
    write("train.jsonl", (problem(*each) for each in problems[100:600]))
    pairs = (pair for each in problems[600:] for pair in warm(generator, *each))
    write("warm.jsonl", ({"prompt": turns, "completion": text} for turns, text in pairs))


main()
