"""Writes rows about small circuits beside this file.

`circuits.jsonl` has golden modules for codev-r1.toml, `modules.jsonl` has replies for verilog-warm.toml, and `answers.jsonl` has right
and wrong counters, whose pass rates verirl.toml needs.
"""

import json
import random
from pathlib import Path

FOLDER = Path(__file__).parent
GATES = {"and": "&", "or": "|", "xor": "^"}


def gates(generator):
    """What two gates compute, and their module."""
    inputs = generator.sample("abc", 3)
    words = [generator.choice(list(GATES)) for _ in range(2)]
    prompt = f"y is {inputs[0]} {words[0]} {inputs[1]}, {words[1]} {inputs[2]}"
    value = f"({inputs[0]} {GATES[words[0]]} {inputs[1]}) {GATES[words[1]]} {inputs[2]}"
    return prompt, f"module m(input a, b, c, output y);\nassign y = {value};\nendmodule"


def counter(last, first=0):
    return (
        "module m(input clk, rst, en, output reg [3:0] q);\n"
        f"always @(posedge clk) if (rst) q <= 0; else if (en) q <= q == {last} ? {first} : q + 1;\n"
        "endmodule"
    )


def answers(generator, count):
    """Counters with a right and with wrong ends: the later both differ, the more test benches do not see it."""
    for _ in range(count):
        last = generator.randint(3, 14)
        others = generator.sample([other for other in range(3, 16) if other != last], 3)
        for response in [counter(last), *map(counter, others), counter(last, 1)]:
            yield {"prompt": f"q counts from 0 to {last}", "response": response, "reference": {"golden": counter(last)}}


def write(name, rows):
    with open(FOLDER / f"{name}.jsonl", "w") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def main():
    generator = random.Random(1)
    drawn = [gates(generator) for _ in range(1400)]
    problems = [{"prompt": prompt, "reference": {"golden": module}} for prompt, module in drawn[:400]]
    write("circuits-held-out", problems[:30])
    write("circuits", problems[30:])
    write("modules", ({"prompt": prompt, "completion": f"```verilog\n{module}\n```"} for prompt, module in drawn[400:]))
    write("answers", answers(generator, 30))


main()
