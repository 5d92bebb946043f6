"""Writes rows about chains of arithmetic modulo 100 beside this file; the run files say which of them they read."""

import json
import random
from pathlib import Path

FOLDER = Path(__file__).parent
PRINCIPLES = {"There is a subtraction.": "-", "There is an addition.": "+"}


def apply(left, sign, right):
    return {"+": left + right, "-": left - right, "*": left * right}[sign] % 100


class Chain:
    """A problem in the words of `tribunal-tiny`, and its solutions."""

    def __init__(self, generator, least, most):
        self.generator, self.start, self.links = generator, generator.randint(1, 99), []
        self.prompt, is_sum = str(self.start), False
        for _ in range(generator.randint(least, most)):
            sign = generator.choice("+-*")
            number = generator.randint(2, 9) if sign == "*" else generator.randint(1, 99)
            if sign == "*" and is_sum:
                self.prompt = f"({self.prompt})"
            is_sum = sign != "*"
            self.prompt += f"{sign}{number}"
            self.links.append((sign, number))
        self.prompt += " mod 100"

    def steps(self, slips=0):
        """The lines of a solution with this many wrong values, which later lines go on from; their places, and the answer."""
        places = set(self.generator.sample(range(len(self.links)), slips))
        left, lines = self.start, []
        for place, (sign, number) in enumerate(self.links):
            value = apply(left, sign, number)
            if place in places:
                value = (value + self.generator.choice([1, 10, 90, 99])) % 100
            lines.append(f"{left}{sign}{number}={value}")
            left = value
        if slips and str(left) == self.answer:
            # The mistakes cancelled out.
            return self.steps(slips)
        return lines, places, left

    def solution(self, slips=0):
        lines, _, answer = self.steps(slips)
        return "\n".join([*lines, f"Answer: {answer}"])

    @property
    def answer(self):
        return str(self.steps()[2])


def level(chain):
    return {"prompt": chain.prompt, "answer": chain.answer, "category": str(len(chain.links))}


def checklist(chain):
    items = [
        {"criterion": "The final answer is right.", "points": 4, "verifier": {"scorer": "math", "reference": chain.answer}},
        {"criterion": "Every step is right.", "points": 2},
        {"criterion": "There is one step for each operation.", "points": 1},
        {"criterion": "At least one step is wrong.", "points": -1},
    ]
    return {"prompt": chain.prompt, "rubric": {"items": items}}


def unanswered(chain):
    return {"prompt": chain.prompt, "kind": "open"}


def ranked(chain):
    slips = [0, 1, 2]
    chain.generator.shuffle(slips)
    return {"prompt": chain.prompt, "candidates": [chain.solution(n) for n in slips], "gold_rank": [n + 1 for n in slips]}


def pair(chain):
    """A better and a worse solution: right and wrong, or with one and with two wrong steps."""
    better = chain.generator.randrange(2)
    shares = [1 - slips / len(chain.links) for slips in (better, better + 1)]
    row = {"prompt": chain.prompt, "chosen": chain.solution(better), "rejected": chain.solution(better + 1)}
    return row | {"outcomes": [better == 0, False], "right_shares": shares}


def noisy(chain):
    """A pair with votes. A fifth of the pairs have the wrong order, which the mean of three votes shows."""
    texts, middle = [chain.solution(), chain.solution(1)], 1.0
    if chain.generator.random() < 0.2:
        texts, middle = texts[::-1], -1.0
    votes = {f"vote_{number}": round(chain.generator.gauss(middle, 1), 2) for number in range(3)}
    return {"prompt": chain.prompt, "chosen": texts[0], "rejected": texts[1]} | votes


def shifted(chain):
    return {"prompt": chain.prompt, "chosen": chain.solution(1), "rejected": chain.solution(2)}


def principle(chain):
    text, sign = chain.generator.choice(list(PRINCIPLES.items()))
    verdict = "yes" if any(own == sign for own, _ in chain.links) else "no"
    return {"prompt": chain.prompt, "response": chain.solution(), "principle": text, "verdict": verdict}


def critique(chain):
    """A critique of CFT: a line for each wrong step, and a conclusion."""
    lines, places, answer = chain.steps(chain.generator.randrange(2))
    text = "\n".join([*lines, f"Answer: {answer}"])
    said = []
    for place in sorted(places):
        left = lines[place].split("=")[0]
        sign = next(sign for sign in "+-*" if sign in left)
        first, second = left.split(sign)
        said.append(f"Step {place + 1}: {left} is {apply(int(first), sign, int(second))}.")
    said.append(f"Conclusion: {'wrong' if places else 'right'} [END]")
    return {"prompt": f"Question:\n{chain.prompt}\n\nSolution:\n{text}", "completion": "\n".join(said)}


def paragraphs(chain, slips, detour):
    """The steps of a thought, the places of those on a detour or behind a slip, and the answer."""
    lines, places, answer = chain.steps(slips)
    at = chain.generator.randrange(len(lines))
    if slips:
        return lines, list(range(min(places), len(lines))), answer
    if detour:
        left, value = lines[at].split("=")
        other = (int(value) + chain.generator.choice([1, 10, 90, 99])) % 100
        lines[at : at + 1] = [f"{left}={other}", f"Wait, {lines[at]}"]
    return lines, [at] if detour else [], answer


def thought(chain):
    """A solution in thoughts, every other one with a step that the next one corrects."""
    lines, _, answer = paragraphs(chain, 0, chain.generator.random() < 0.5)
    return {"prompt": chain.prompt, "completion": "\n\n".join(lines) + f"\n</think>\nAnswer: {answer}"}


def labels(chain):
    """TP-GRPO's labels in the prompts of tp-grpo.toml: wrong thoughts of a right solution, or those that lead to a wrong answer."""
    wrong = chain.generator.random() < 0.5
    lines, places, _ = paragraphs(chain, int(wrong), chain.generator.random() < 0.5)
    steps = "".join(f"<step {number}>\n> {line}\n" for number, line in enumerate(lines, 1))
    numbers = ", ".join(str(place + 1) for place in places)
    question = {"role": "retrospective" if wrong else "critic", "content": ""}
    prompt = [{"role": "user", "content": f"User:\n> {chain.prompt}\n{steps}"}, question]
    return {"prompt": prompt, "completion": f"{'Matching' if wrong else 'Wrong'} steps: [{numbers}]"}


def main():
    files = {
        "levels": (level, 1200, 1, 6),
        "rubrics": (checklist, 400, 3, 5),
        "rubrics-held-out": (checklist, 40, 3, 5),
        "open": (unanswered, 400, 3, 5),
        "ranked": (ranked, 400, 3, 4),
        "pairs": (pair, 600, 3, 5),
        "pairs-held-out": (pair, 100, 3, 5),
        "noisy": (noisy, 600, 3, 4),
        "shifted": (shifted, 200, 5, 6),
        "principles": (principle, 800, 1, 2),
        "principles-held-out": (principle, 200, 1, 2),
        "critiques": (critique, 800, 3, 4),
        "critiques-held-out": (critique, 100, 3, 4),
        "thoughts": (thought, 2000, 2, 3),
        "thoughts-labels": (labels, 1000, 2, 3),
    }
    for seed, (name, (row, count, least, most)) in enumerate(files.items()):
        generator = random.Random(seed)
        with open(FOLDER / f"{name}.jsonl", "w") as file:
            for _ in range(count):
                file.write(json.dumps(row(Chain(generator, least, most))) + "\n")


main()
