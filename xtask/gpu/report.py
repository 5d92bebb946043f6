"""Turns results of the kit into docs/gpu-runs.json and the tables of docs/gpu.md.

    report.py [--docs DIR] [RESULTS.json ...]

Each file is the `results.json` of a run of check.py. A run takes the place of an older one of the same card and commit. Without
files the tables are written again from docs/gpu-runs.json.
"""

import argparse
import json
import sys
from itertools import groupby
from pathlib import Path

BEGIN = "<!-- Tables of `cargo xtask gpu report`: begin -->\n"
END = "<!-- Tables of `cargo xtask gpu report`: end -->\n"
NONE = "Not run on a card.\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--docs", type=Path, default=Path(__file__).resolve().parents[2] / "docs")
    parser.add_argument("results", nargs="*", type=Path)
    args = parser.parse_args()
    kept = args.docs / "gpu-runs.json"
    runs = json.loads(kept.read_text())
    for file in args.results:
        run = json.loads(file.read_text())
        if card(run) is None:
            sys.exit(f"{file}: the run did not come as far as the card's name")
        if run["small"]:
            sys.exit(f"{file}: a run of tiny sizes measures nothing")
        # Paths and versions of a machine say nothing about the card.
        run.pop("host", None)
        runs = [old for old in runs if (card(old)["card"], old["commit"]) != (card(run)["card"], run["commit"])]
        runs.append(run)
    runs.sort(key=lambda run: run["date"], reverse=True)
    kept.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n")
    page = args.docs / "gpu.md"
    text = page.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(before + BEGIN + "\n" + tables(runs) + "\n" + END + after)
    print(f"{len(runs)} runs in {kept}")


def card(run):
    """The line of the card's name."""
    found = [line for part in run["parts"] for line in part["results"] if line["name"] == "card"]
    return found[0] if found else None


def tables(runs):
    return "\n".join(map(one_run, runs)) if runs else NONE


def one_run(run):
    of = card(run)
    gib = of["memory_bytes"] / 2**30
    text = f"### {of['card']}, {run['date'][:10]}\n\n"
    text += f"Compute capability {of['capability']}, {gib:.0f} GiB, driver for CUDA {of['driver']}, kernels {of['kernels']}, "
    text += f"commit `{(run['commit'] or 'unknown')[:12]}`.\n"
    torch = {
        line["name"]: line["figures"]
        for part in run["parts"] if part["name"] == "peers"
        for line in part["results"] if line["name"].startswith("product ")
    }
    for part in run["parts"]:
        if part["name"] != "card":
            text += "\n" + one_part(part, torch if part["name"] == "speed" else {})
    return text


def one_part(part, torch):
    count = {status: sum(line["status"] == status for line in part["results"]) for status in ("ok", "failed", "skipped")}
    ended = "" if part["status"] == "done" else f" ({part['status']})"
    text = f"**{part['name']}**{ended}: {count['ok']} ok, {count['failed']} failed, {count['skipped']} skipped.\n"
    for line in part["results"]:
        if line["status"] != "ok":
            why = " ".join((line["why"] or "").split())
            text += f"- {line['name']}: {line['status']}: {why}\n"
    good = [dict(line) for line in part["results"] if line["status"] == "ok" and line["figures"]]
    for line in good:
        peer = torch.get(line["name"], {}).get("µs")
        if peer and "µs" in line["figures"]:
            line["figures"] = {**line["figures"], "torch, µs": peer, "torch / ours": peer / line["figures"]["µs"]}
    for names, lines in groupby(good, key=lambda line: tuple(line["figures"])):
        text += "\n| result | " + " | ".join(names) + " |\n|---|" + "---:|" * len(names) + "\n"
        for line in lines:
            text += f"| {line['name']} | " + " | ".join(map(figure, line["figures"].values())) + " |\n"
    return text


def figure(x):
    if x == 0 or abs(x) >= 100:
        return f"{x:,.0f}"
    return f"{x:.3g}"


if __name__ == "__main__":
    main()
