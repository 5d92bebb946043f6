#!/usr/bin/env python3
"""Tables and a plot of what arms.py measured.

    python3 bench/coevolution/report.py FOLDER [--plot docs/assets/coevolution.svg]

Prints Markdown: means over seeds, each with a 95 % interval of 10,000 bootstrap samples of seeds; what an arm is beyond C,
and the share of the gap from C to B that it closes, both paired by seed. Needs nothing but Python's standard library.
"""

import argparse
import json
import pathlib
import random

ARMS = ["A", "B", "C", "D", "E", "Ec", "Eb", "En", "F", "G", "H"]
POLICY = {"greedy": "greedy", "pass@1": "pass@1", "pass@8": "pass@8"}
JUDGE = {
    "near misses": "judge/near/",
    "slips": "judge/slips/",
    "slips, 7 to 9 operations": "judge/slips_long/",
    "the start's own answers": "judge/base/",
    "the policy's own answers": "judge/policy/",
}
FIGURES = {"balanced accuracy": "balanced_accuracy", "AUROC": "auroc", "ECE": "ece", "first-error F1": "steps/f1"}
SAMPLES = 10_000


def read(folder):
    """arm -> seed -> result."""
    found = {}
    for line in (folder / "results.jsonl").read_text().splitlines():
        result = json.loads(line)
        result["self-reward gap"] = mean(result["gap"][-20:])
        found.setdefault(result["arm"], {})[result["seed"]] = result
    within = folder / "within.jsonl"
    for line in within.read_text().splitlines() if within.exists() else []:
        line = json.loads(line)
        result = found.get(line["arm"], {}).get(line["seed"])
        if result:
            result["final"].update({"groups/" + key: line[key] for key in ("within_problems", "auroc", "balanced_accuracy")})
    return found


def mean(numbers):
    numbers = [number for number in numbers if number is not None]
    return sum(numbers) / len(numbers) if numbers else None


def interval(statistic, seeds):
    """The middle 95 % of a statistic over samples of seeds with replacement."""
    rng = random.Random(0)
    drawn = (statistic([rng.choice(seeds) for _ in seeds]) for _ in range(SAMPLES))
    drawn = sorted(value for value in drawn if value is not None)
    if not drawn:
        return None
    return drawn[int(0.025 * len(drawn))], drawn[min(len(drawn) - 1, int(0.975 * len(drawn)))]


def measured(results, arm, key):
    """Mean and interval of a figure."""
    of = results.get(arm, {})
    value = lambda seed: of[seed]["final"].get(key, of[seed].get(key))
    seeds = sorted(seed for seed in of if value(seed) is not None)
    if not seeds:
        return None
    statistic = lambda chosen: mean([value(seed) for seed in chosen])
    return statistic(seeds), interval(statistic, seeds)


def closed(results, arm, key="pass@1"):
    """(X - C) / (B - C), the ratio of means over the same seeds; none where B - C may as well be 0."""
    value = lambda name, seed: results[name][seed]["final"][key]
    seeds = sorted(set(results.get(arm, {})) & set(results.get("B", {})) & set(results.get("C", {})))
    if not seeds:
        return None

    def statistic(chosen):
        gap = mean([value("B", seed) - value("C", seed) for seed in chosen])
        gain = mean([value(arm, seed) - value("C", seed) for seed in chosen])
        return gain / gap if gap > 0 else None

    gap = beyond(results, "B", key)
    share = statistic(seeds) if gap and gap[1][0] > 0 else None
    return None if share is None else (share, interval(statistic, seeds))


def beyond(results, arm, key="pass@1"):
    """X - C over the same seeds."""
    value = lambda name, seed: results[name][seed]["final"][key]
    seeds = sorted(set(results.get(arm, {})) & set(results.get("C", {})))
    if not seeds or arm == "C":
        return None
    statistic = lambda chosen: mean([value(arm, seed) - value("C", seed) for seed in chosen])
    return statistic(seeds), interval(statistic, seeds)


def cell(found, digits=3):
    if found is None:
        return "-"
    value, between = found
    return f"{value:.{digits}f}" + (f" [{between[0]:.{digits}f}, {between[1]:.{digits}f}]" if between else "")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def tables(results):
    arms = [arm for arm in ARMS if arm in results]
    print(f"Seeds a arm: {', '.join(f'{arm} {len(results[arm])}' for arm in arms)}\n")
    rows = []
    for arm in arms:
        row = [arm] + [cell(measured(results, arm, key)) for key in POLICY.values()]
        row += [cell(beyond(results, arm)), cell(closed(results, arm), 1), cell(measured(results, arm, "self-reward gap"))]
        rows.append(row)
    print(table(["arm", *POLICY, "pass@1 less C's", "gap closed", "self-given less true reward"], rows))
    groups = {"within problems": "groups/within_problems", "AUROC over all": "groups/auroc"}
    rows = [[arm] + [cell(measured(results, arm, key)) for key in groups.values()] for arm in arms]
    print("Judging eight answers of the start to each of 100 problems:\n")
    print(table(["arm", *groups], rows))
    for name, prefix in JUDGE.items():
        rows = []
        for arm in arms:
            rows.append([arm] + [cell(measured(results, arm, prefix + key)) for key in FIGURES.values()])
        print(f"Judging {name}:\n")
        print(table(["arm", *FIGURES], rows))
    rows = []
    for arm in arms:
        numbers = [measured(results, arm, key) for key in ("seconds", "player_tokens", "judge_tokens", "trained_tokens")]
        exact = max(result["max_abs_dlogp"] for result in results[arm].values())
        rows.append([arm] + [f"{number[0]:,.0f}" for number in numbers] + [f"{exact:g}"])
    print(table(["arm", "seconds", "tokens solved", "tokens judged", "tokens trained", "max_abs_dlogp"], rows))


def plot(results, path):
    """Dots and intervals, a row an arm and a column a figure."""
    panels = [("pass@1", "pass@1"), ("pass@8", "pass@8"), ("judge, slips", "judge/slips/balanced_accuracy"),
              ("judge, within problems", "groups/within_problems")]
    arms = [arm for arm in ARMS if arm in results]
    width, row, top, left = 220, 26, 44, 44
    parts = []
    for column, (title, key) in enumerate(panels):
        found = {arm: measured(results, arm, key) for arm in arms}
        ends = [end for value in found.values() if value for end in (value[0], *value[1])]
        low, high = min(ends), max(ends)
        margin = max(0.02, 0.08 * (high - low))
        low, high = low - margin, high + margin
        x0 = left + column * (width + 24)
        x = lambda value: x0 + (value - low) / (high - low) * width
        parts.append(f'<text x="{x0}" y="18" class="t">{title}</text>')
        for tick in (low + margin, high - margin):
            parts.append(f'<text x="{x(tick):.1f}" y="34" class="s" text-anchor="middle">{tick:.2f}</text>')
        for line, arm in enumerate(arms):
            y = top + row * line + row / 2
            if column == 0:
                parts.append(f'<text x="8" y="{y + 4}" class="t">{arm}</text>')
            parts.append(f'<line x1="{x0}" x2="{x0 + width}" y1="{y}" y2="{y}" class="g"/>')
            if found[arm]:
                value, between = found[arm]
                parts.append(f'<line x1="{x(between[0]):.1f}" x2="{x(between[1]):.1f}" y1="{y}" y2="{y}" class="i"/>')
                parts.append(f'<circle cx="{x(value):.1f}" cy="{y}" r="4" class="d"/>')
    size = (left + len(panels) * (width + 24), top + row * len(arms) + 12)
    style = ("text{font:13px system-ui,sans-serif;fill:#57606a}.s{font-size:11px}.g{stroke:#d0d7de;stroke-width:1}"
             ".i{stroke:#8250df;stroke-width:3;opacity:.45}.d{fill:#8250df}")
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" viewBox="0 0 {size[0]} {size[1]}" role="img" '
           f'aria-label="Figures of each arm: mean over seeds and 95 percent interval"><style>{style}</style>' + "".join(parts) + "</svg>\n")
    path.write_text(svg)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--plot", type=pathlib.Path)
    options = parser.parse_args()
    results = read(options.folder)
    tables(results)
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
