#!/usr/bin/env python3
"""Checks and measures a card, in at most nine minutes, on a machine that has a driver, Python and nothing else.

    python3 check.py --out DIR

The parts run in order of their worth, each for a limited time, and DIR/results.json is written after every result: a run that is
ended keeps what it had. The last line is `N ok, N failed, N skipped`. `cargo xtask gpu report DIR/results.json` makes the tables
of docs/gpu.md of it.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Names, and the most seconds of each. All together take at most TOTAL.
PARTS = [
    ("card", 60),
    ("kernels", 60),
    ("families", 90),
    ("invariance", 90),
    ("physics", 45),
    ("speed", 180),
    ("peers", 90),
]
TOTAL = 540


def main():
    args = arguments()
    if args.peers:
        return peers(args.small)
    args.out.mkdir(parents=True, exist_ok=True)
    run = {
        "commit": args.commit or commit(),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host": host(),
        "small": args.small,
        "parts": [],
    }
    end = time.monotonic() + TOTAL
    for name, limit in PARTS:
        part = {"name": name, "status": "running", "results": []}
        run["parts"].append(part)
        one_part(part, command(args, name), min(limit, end - time.monotonic()), lambda: write(args.out, run))
        write(args.out, run)
        print(f"{name}: {part['status']}, {part['seconds']:.0f} s", flush=True)
    count = {"ok": 0, "failed": 0, "skipped": 0}
    for part in run["parts"]:
        if part["status"] != "done":
            count["failed"] += 1
        for result in part["results"]:
            count[result["status"]] += 1
            if result["status"] == "failed":
                print(f"  {part['name']}: {result['name']}: {result['why']}")
    print(f"{count['ok']} ok, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("gpu-results"), help="where results.json goes")
    parser.add_argument("--program", type=Path, default=HERE / "gpu-kit", help="the measuring program")
    parser.add_argument("--device", default="0", help="the card's number")
    parser.add_argument("--library", action="append", default=[], help="a driver or compiler that is loaded first")
    parser.add_argument("--small", action="store_true", help="tiny sizes: for the emulated driver")
    parser.add_argument("--commit", help="the commit of the program; by default that of the folder's file `commit`")
    parser.add_argument("--peers", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def commit():
    file = HERE / "commit"
    return file.read_text().strip() if file.exists() else None


def host():
    return {"system": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()}


def command(args, part):
    if part == "peers":
        return [sys.executable, __file__, "--peers"] + ["--small"] * args.small
    line = [str(args.program), "--device", args.device, "--cache", str(args.out / "kernels")]
    for library in args.library:
        line += ["--library", library]
    return line + ["--small"] * args.small + [part]


def one_part(part, line, limit, save):
    """Runs a part for `limit` seconds and collects its lines."""
    start = time.monotonic()
    if limit <= 0:
        part.update(status="left out: no time", seconds=0.0)
        return
    try:
        # Errors go to a file: a full pipe would stop the part.
        with open(os.devnull) as nothing, tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(line, stdin=nothing, stdout=subprocess.PIPE, stderr=errors, text=True)
            timer = threading.Timer(limit, process.kill)
            timer.start()
            for text in process.stdout:
                try:
                    part["results"].append(json.loads(text))
                except ValueError:
                    part.setdefault("other", []).append(text.rstrip())
                save()
            code = process.wait()
            ended = not timer.is_alive()
            timer.cancel()
            errors.seek(0)
            said = errors.read().strip()[-2000:]
    except OSError as error:
        code, ended, said = None, False, str(error)
    part["seconds"] = time.monotonic() - start
    if ended:
        part["status"] = f"ended after {limit:.0f} s"
    elif code == 0:
        part["status"] = "done"
    else:
        part["status"] = f"failed ({code})"
    if said:
        part["errors"] = said


def write(folder, run):
    new = folder / "results.json.new"
    new.write_text(json.dumps(run, indent=1) + "\n")
    new.replace(folder / "results.json")


def result(name, status, figures=None, why=None):
    print(json.dumps({"name": name, "status": status, "figures": figures or {}, "why": why}), flush=True)


def peers(small):
    """What PyTorch and transformers do on the same card, where they are installed."""
    try:
        import torch
    except ImportError:
        result("torch", "skipped", why="torch is not installed")
        return 0
    if not torch.cuda.is_available():
        result("torch", "skipped", why=f"torch {torch.__version__} finds no card")
        return 0
    result("torch", "ok", {"capability": float("%d.%d" % torch.cuda.get_device_capability())}, torch.__version__)
    shapes = [(rows, n, k) for n, k in products() for rows in ([1] if small else [1, 16, 64, 512, 8192])]
    for rows, n, k in shapes + ([] if small else [(8192, 8192, 8192)]):
        attempt(f"product {rows} x {n} x {k}", lambda: product(torch, rows, n, k))
    for n, k in products()[:1] if small else products():
        attempt(f"rows of a product {n} x {k}", lambda: rows_alone(torch, n, k, 64 if small else 8192))
    attempt("0.6B: prefill by transformers", lambda: prefill(torch, small))
    return 0


def attempt(name, work):
    try:
        result(name, "ok", work())
    except ImportError as error:
        result(name, "skipped", why=str(error))
    except Exception as error:  # noqa: BLE001: every failure of a peer is a result
        result(name, "failed", why=f"{type(error).__name__}: {error}")


def products():
    """Columns and depth of the products of a layer: of 0.6B, then of 4B."""
    return [(4096, 1024), (1024, 2048), (6144, 1024), (1024, 3072), (6144, 2560), (2560, 4096), (19456, 2560), (2560, 9728)]


def timed(torch, work):
    work()
    torch.cuda.synchronize()
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            work()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        if seconds > 0.15:
            return seconds / count
        count *= 2


def product(torch, rows, n, k):
    x = torch.randn(rows, k, device="cuda", dtype=torch.bfloat16)
    # So many weights that none is found in the card's cache.
    all_w = torch.randn(max(1, (256 << 20) // (n * k * 2)) + 1, n, k, device="cuda", dtype=torch.bfloat16)
    turn = [0]

    def work():
        turn[0] = (turn[0] + 1) % len(all_w)
        torch.nn.functional.linear(x, all_w[turn[0]])

    seconds = timed(torch, work)
    return {
        "µs": seconds * 1e6,
        "TFLOP/s": 2 * rows * n * k / seconds / 1e12,
        "GB/s": 2 * (rows * k + n * k + rows * n) / seconds / 1e9,
    }


def rows_alone(torch, n, k, most):
    """How many rows get other bits from the library in smaller batches than in the largest: what invariance is worth."""
    x = torch.randn(most, k, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
    whole = torch.nn.functional.linear(x, w).view(torch.int16)
    sizes, size = [], 1
    while size < most:
        sizes += [size, size + 1]
        size *= 2
    other = 0
    for rows in sizes:
        part = torch.nn.functional.linear(x[:rows], w).view(torch.int16)
        other += int((part != whole[:rows]).any(dim=1).sum())
    return {"batches": len(sizes), "rows": sum(sizes), "rows with other bits": other}


def prefill(torch, small):
    import transformers

    config = transformers.Qwen3Config(
        hidden_size=1024, intermediate_size=3072, num_hidden_layers=2 if small else 28, num_attention_heads=16,
        num_key_value_heads=8, head_dim=128, vocab_size=151936, tie_word_embeddings=True,
    )
    with torch.device("cuda"):
        model = transformers.Qwen3ForCausalLM(config).to(torch.bfloat16).eval()
    tokens = torch.randint(0, 151936, (27, 300), device="cuda")
    with torch.inference_mode():
        seconds = timed(torch, lambda: model(tokens, logits_to_keep=1))
    return {"tokens/s": tokens.numel() / seconds}


if __name__ == "__main__":
    sys.exit(main())
