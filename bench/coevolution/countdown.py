"""Rows of the second study: `Make 24 from 3, 8, 1`, solved in two lines that use each number once (`8*1=8`, `3*8=24`).

All right solutions of a problem are listed, so that a regular expression verifies an answer without error.
"""

import hashlib
import itertools
import json
import random

MOST = 99


def steps(a, b):
    """Every equation of two numbers whose value is not negative, as (left, sign, right, value)."""
    yield a, "+", b, a + b
    yield b, "+", a, a + b
    if a > b:
        yield a, "-", b, a - b
    if b > a:
        yield b, "-", a, b - a
    yield a, "*", b, a * b
    yield b, "*", a, a * b


def text(lines):
    return "\n".join(f"{left}{sign}{right}={value}" for left, sign, right, value in lines)


def solutions(numbers):
    """Every derivation from the numbers, by its target."""
    found = {}

    def go(pool, lines):
        if len(pool) == 1:
            if 1 <= pool[0] <= MOST:
                found.setdefault(pool[0], set()).add(text(lines))
            return
        for i, j in itertools.combinations(range(len(pool)), 2):
            rest = [number for at, number in enumerate(pool) if at not in (i, j)]
            for line in steps(pool[i], pool[j]):
                if line[3] <= MOST:
                    go(rest + [line[3]], lines + [line])

    go(list(numbers), [])
    return {target: sorted(texts) for target, texts in found.items()}


def draw(rng, count, most):
    while True:
        numbers = [rng.randint(1, most) for _ in range(count)]
        found = solutions(numbers)
        targets = sorted(target for target in found if target not in numbers and target > 9)
        if targets:
            target = rng.choice(targets)
            return f"Make {target} from {', '.join(map(str, numbers))}", numbers, target, found[target]


def is_held_out(prompt):
    """A quarter of all problems is never trained on, whatever the seed."""
    return hashlib.sha256(prompt.encode()).digest()[0] % 4 == 0


def problems(seed, n, held_out, count=3, most=20):
    """`n` problems of `count` numbers up to `most`, as (prompt, numbers, target, solutions)."""
    rng, seen, out = random.Random(seed), set(), []
    while len(out) < n:
        problem = draw(rng, count, most)
        if problem[0] not in seen and is_held_out(problem[0]) == held_out:
            seen.add(problem[0])
            out.append(problem)
    return out


def pattern(texts):
    """The regular expression of the right solutions."""
    return "|".join(one.replace("+", "\\+").replace("*", "\\*") for one in texts)


def derivation(rng, numbers):
    """Random lines that use each number once."""
    pool, lines = list(numbers), []
    while len(pool) > 1:
        i, j = rng.sample(range(len(pool)), 2)
        line = rng.choice(list(steps(pool[i], pool[j])))
        if line[3] <= MOST:
            pool = [number for at, number in enumerate(pool) if at not in (i, j)] + [line[3]]
            lines.append(line)
    return lines


def parse(solution):
    for line in solution.split("\n"):
        equation, value = line.split("=")
        sign = next(sign for sign in "+-*" if sign in equation)
        left, right = equation.split(sign)
        yield int(left), sign, int(right), int(value)


def value(left, sign, right):
    return {"+": left + right, "-": left - right, "*": left * right}[sign]


def replaced(line, old, new):
    left, sign, right, result = line
    return (new if left == old else left), sign, (new if right == old else right), result


def wrong(rng, numbers, target, right):
    """A wrong solution: one that misses the target or claims to reach it, has a slip, or a number that was not given."""
    while True:
        kind = rng.choice(["miss", "claim", "slip", "number"])
        is_free = kind in ("miss", "claim") or rng.random() < 0.5
        lines = derivation(rng, numbers) if is_free else list(parse(rng.choice(right)))
        at = rng.randrange(len(lines))
        left, sign, operand, result = lines[at]
        other = result
        if kind == "claim":
            lines[-1] = (*lines[-1][:3], target)
        elif kind == "slip":
            digits = str(result)
            place = rng.randrange(len(digits))
            digit = rng.choice([digit for digit in "0123456789" if digit != digits[place]])
            other = int(digits[:place] + digit + digits[place + 1 :])
            lines[at] = (left, sign, operand, other)
        elif kind == "number":
            if rng.random() < 0.5:
                left = rng.randint(1, 20)
            else:
                operand = rng.randint(1, 20)
            is_last = at + 1 == len(lines)
            other = target if is_last and rng.random() < 0.5 else value(left, sign, operand)
            lines[at] = (left, sign, operand, other)
        if other != result and at + 1 < len(lines):
            # The lines after it go on from it.
            last = replaced(lines[-1], result, other)
            claims = kind == "slip" and rng.random() < 0.5
            lines[-1] = (*last[:3], target if claims else value(*last[:3]))
        is_plausible = all(0 <= number <= 200 for line in lines for number in (line[0], line[2], line[3]))
        if is_plausible and text(lines) not in right:
            return text(lines)


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def claims(solution, target):
    """Whether it ends with the target, rightly or not."""
    return list(parse(solution))[-1][3] == target


def write_solutions(folder, rng, found):
    """Supervised rows of problems with one of their solutions."""
    write(folder / "solve.jsonl", [{"prompt": prompt, "completion": rng.choice(right)} for prompt, _, _, right in found])


def write_start(folder, solve=6000, judge=16000, seed=77):
    """Supervised rows of the start: solutions, and verdicts on right and wrong ones. Two thirds of the wrong ones end with the target,
    so that the judge learns to check lines and numbers, and less well whether a solution reaches what was asked."""
    rng = random.Random(seed)
    found = problems(1, max(solve, judge), False)
    write_solutions(folder, rng, found[:solve])
    rows = []
    for prompt, numbers, target, right in found[:judge]:
        is_right = rng.random() < 0.5
        ends_anywhere = rng.random() < 1 / 3
        answer = rng.choice(right)
        while not is_right and (answer in right or not (ends_anywhere or claims(answer, target))):
            answer = wrong(rng, numbers, target, right)
        turns = [("user", prompt), ("assistant", answer), ("context", ""), ("pointwise", "")]
        messages = [{"role": role, "content": content} for role, content in turns]
        rows.append({"prompt": messages, "completion": "Yes" if is_right else "No"})
    write(folder / "judge.jsonl", rows)
