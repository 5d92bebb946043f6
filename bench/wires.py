#!/usr/bin/env python3
"""Holds every wire against the native route, and OpenRLHF's pattern against its own reward server.

    bench/wires.py [TRIBUNAL] [--stock PYTHON] [--rounds 5] [--seconds 3] [--only NAME ...]
    bench/wires.py [TRIBUNAL] --before OLD [--rounds 5] [--seconds 3] [--only NAME ...]

`tribunal bench serve` sends the same samples in both, in turn, the one first and then the other, so
that a busy machine slows both; figures are medians of the rounds. What a wire costs is told by the
server's processor time for a verdict, which other load changes little, and by verdicts a second.

PYTHON is an interpreter with openrlhf, transformers, fastapi and uvicorn, such as that of
`tests/clients/.venvs/trainers`, which `cargo xtask test --clients -- trainers` makes. Its
`openrlhf.cli.serve_rm` serves the same model (bench/peers/openrlhf_serve_rm.py says how without a
GPU), with PyTorch's own attention in the place of a kernel for GPUs.

OLD is an earlier build: each wire, the native route included, is held against the same wire of that
build instead. The last line of stdout is one JSON object.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
TICKS = os.sysconf("SC_CLK_TCK")

# A wire, the scorer that it asks, the one that the native route asks for the same, and how many
# samples a request has.
WIRES = [
    ("openrlhf", "math", "math", 64),
    ("slime", "math", "math", 1),
    ("nemo-gym", "math", "math", 1),
    ("openai-grader", "exact", "exact", 1),
    ("openrlhf", "rm", "rm", 64),
    ("slime", "rm", "rm", 1),
    ("nim", "rm", "rm", 1),
    ("vllm-classify", "rm", "rm", 64),
    ("vllm-score", "rm", "rm", 64),
    ("vllm-pooling", "rm", "rm", 64),
    ("sglang-embeddings", "rm", "rm", 64),
    ("sglang-classify", "rm", "rm", 64),
    ("tei-predict", "rm", "rm", 64),
]


class Tribunal:
    """A server on a free port."""

    def __init__(self, program, *arguments):
        command = [program, "serve", "--bind", "127.0.0.1:0", "--log", "warn", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = re.search(r"http://\S+", self.process.stdout.readline())[0]

    def processor_seconds(self):
        """User and system time so far."""
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / TICKS

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Stock:
    """OpenRLHF's reward server."""

    def __init__(self, python, model):
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            port = held.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        serve_rm = ROOT / "bench" / "peers" / "openrlhf_serve_rm.py"
        command = [python, str(serve_rm), "--host", "127.0.0.1", "--port", str(port)]
        command += ["--reward.model_name_or_path", str(model), "--data.max_len", "1024"]
        command += ["--ds.attn_implementation", "sdpa"]
        self.log = tempfile.TemporaryFile(mode="w+")
        environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, env=environment)
        end = time.monotonic() + 300
        while not self.answers(port):
            if self.process.poll() is not None or time.monotonic() > end:
                self.log.seek(0)
                sys.exit(f"serve_rm did not start:\n{self.log.read()[-2000:]}")
            time.sleep(0.2)

    def answers(self, port):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def load(program, url, wire, scorer, batch, concurrency, seconds, seed):
    """One closed loop: verdicts, and verdicts a second."""
    command = [program, "bench", "serve", "--url", url, "--wire", wire, "--scorer", scorer]
    command += ["--batch", batch, "--concurrency", concurrency, "--duration", f"{seconds}s"]
    command += ["--warmup", "0s", "--timeout", "600s", "--seed", seed, "--json"]
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{run.stdout[-3000:]}{run.stderr[-3000:]}")
    phase = json.loads(run.stdout.splitlines()[-1])["phases"][0]
    ok = phase["verdicts"].get("ok", 0)
    ended = {name: n for name, n in phase["classes"].items() if n and name not in ("ok", "late")}
    if ended or ok != sum(phase["verdicts"].values()) or not ok:
        sys.exit(f"{wire} of {scorer}: {ended} {phase['verdicts']} {phase['examples']}")
    return ok, ok / phase["elapsed_s"]


def seeds():
    """No two loops send the same samples, so that no cache answers."""
    seed = int(time.time()) % 100_000 * 1000
    while True:
        seed += 1
        yield seed


def reward_model(program, folder):
    """A tiny reward model that reads the generated samples whole."""
    model = folder / "rm"
    make = [program, "models", "make-tiny", "--family", "qwen2", "--head", "sequence", model]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 4096}))
    return model


class Turns:
    """Two loops in turn: the server's processor time for a verdict, and verdicts a second, of each.

    Loops that ask two servers send the same samples in a round; to one server they would be cached.
    """

    def __init__(self, program, options, fresh, loops):
        is_one_server = loops[0][1] is loops[1][1]
        self.names = [name for name, *_ in loops]
        self.costs = {name: [] for name in self.names}
        self.rates = {name: [] for name in self.names}
        for name, server, *words in loops:
            load(program, server.url, *words, 1, next(fresh))
        for at in range(options.rounds):
            seed = next(fresh)
            for name, server, *words in loops if at % 2 == 0 else loops[::-1]:
                before = server.processor_seconds()
                verdicts, rate = load(program, server.url, *words, options.seconds, seed)
                seed = next(fresh) if is_one_server else seed
                self.costs[name].append((server.processor_seconds() - before) / verdicts)
                self.rates[name].append(rate)

    def row(self):
        """Medians, and the medians of the rounds' ratios: the second loop's figure over the first's."""
        found = {}
        for name in self.names:
            found[f"{name}_us"] = round(statistics.median(self.costs[name]) * 1e6, 2)
            found[f"{name}_per_s"] = round(statistics.median(self.rates[name]))
        for word, of in [("cost", self.costs), ("rate", self.rates)]:
            ratios = (b / a for a, b in zip(*(of[name] for name in self.names), strict=True))
            found[f"{word}_ratio"] = round(statistics.median(ratios), 3)
        return found


def told(wire, scorer, batch, row):
    """Prints a row as soon as it is there."""
    each = "; ".join(
        f"{name[:-3]} {row[name]} us of processor time a verdict, {row[f'{name[:-3]}_per_s']} verdicts/s"
        for name in row if name.endswith("_us")
    )
    ratios = f"{row['cost_ratio']:.3f} and {row['rate_ratio']:.3f} x"
    print(f"{wire} of {scorer}, {batch} a request: {each} ({ratios})", flush=True)
    return {"wire": wire, "scorer": scorer, "batch": batch, **row}


def concurrency(batch):
    return 8 if batch > 1 else 16


def asked_for(options, rows):
    return [row for row in rows if not options.only or row[0] in options.only]


def wires(program, options, fresh):
    """Each wire in turn with the native route."""
    with tempfile.TemporaryDirectory() as folder:
        model = reward_model(program, pathlib.Path(folder))
        with Tribunal(program, "--model", f"rm={model}") as server:
            found = []
            for wire, scorer, native, batch in asked_for(options, WIRES):
                loops = [
                    ("native", server, "native", native, batch, concurrency(batch)),
                    ("wire", server, wire, scorer, batch, concurrency(batch)),
                ]
                row = Turns(program, options, fresh, loops).row()
                found.append(told(wire, scorer, batch, row))
            return found


def builds(program, options, fresh):
    """Each wire, and the native route, in turn with the same of an earlier build. The load is `program`'s for both."""
    native = [("native", scorer, scorer, batch) for scorer in ("math", "rm") for batch in (1, 64)]
    with contextlib.ExitStack() as stack:
        model = reward_model(program, pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())))
        servers = [
            (name, stack.enter_context(Tribunal(one, "--model", f"rm={model}")))
            for name, one in [("before", options.before), ("now", program)]
        ]
        found = []
        for wire, scorer, _, batch in asked_for(options, native + WIRES):
            loops = [(*server, wire, scorer, batch, concurrency(batch)) for server in servers]
            row = Turns(program, options, fresh, loops).row()
            found.append(told(wire, scorer, batch, row))
        return found


def with_score_head(folder):
    """The model in this checkout, read by a head of one output instead of its vocabulary.

    A safetensors file is a length, a JSON header and the tensors' bytes.
    """
    source = ROOT / "models" / "assets" / "tribunal-tiny"
    model = folder / "tiny"
    model.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(source / name, model)
    config = json.loads((source / "config.json").read_text())
    config |= {"architectures": ["Qwen3ForSequenceClassification"]}
    config |= {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    (model / "config.json").write_text(json.dumps(config))
    data = (source / "model.safetensors").read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header, tensors = json.loads(data[8 : 8 + length]), data[8 + length :]
    width = config["hidden_size"]
    head = struct.pack(f"<{width}f", *((at % 7 - 3) / width for at in range(width)))
    span = [len(tensors), len(tensors) + len(head)]
    header["score.weight"] = {"dtype": "F32", "shape": [1, width], "data_offsets": span}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (model / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + tensors + head)
    return model


def asked(url, query):
    body = json.dumps({"query": [query]}).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["rewards"][0]


def openrlhf(program, options, fresh):
    """One sample a request from 64 at a time, against batches, here and there."""
    query = "<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n<|im_start|>assistant\nIt is 4.<|im_end|>\n"
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = with_score_head(folder)
        # However slow the machine is, nothing is given up.
        patient = ["--set", "limits.deadline=600s"]
        ours = stack.enter_context(Tribunal(program, "--model", f"rm={model}", *patient))
        servers = {"tribunal": ours}
        if options.stock:
            servers["stock"] = stack.enter_context(Stock(options.stock, model))
        rewards = {name: asked(f"{one.url}/get_reward?model=rm", query) for name, one in servers.items()}
        print("the same sample:", rewards, flush=True)
        loops = [(name, batch) for name in servers for batch in (64, 1)]
        rates = {loop: [] for loop in loops}
        costs = {1: [], 64: []}
        for name in servers:
            load(program, servers[name].url, "openrlhf", "rm", 16, 1, 1, next(fresh))
        for at in range(options.rounds):
            for name, batch in loops if at % 2 == 0 else loops[::-1]:
                concurrency = 64 if batch == 1 else 2
                url = servers[name].url
                before = ours.processor_seconds()
                verdicts, rate = load(
                    program, url, "openrlhf", "rm", batch, concurrency, options.seconds, next(fresh)
                )
                rates[name, batch].append(rate)
                if name == "tribunal":
                    costs[batch].append((ours.processor_seconds() - before) / verdicts)
        found = {f"{name}_{batch}": round(statistics.median(rates[name, batch]), 1) for name, batch in loops}
        pairs = lambda one, other: round(
            statistics.median(a / b for a, b in zip(rates[one], rates[other], strict=True)), 3
        )
        found["single_of_batch"] = pairs(("tribunal", 1), ("tribunal", 64))
        ratios = (a / b for a, b in zip(costs[64], costs[1], strict=True))
        found["single_of_batch_by_processor_time"] = round(statistics.median(ratios), 3)
        found["ms"] = {batch: round(statistics.median(of) * 1e3, 2) for batch, of in costs.items()}
        if options.stock:
            found["times_stock"] = pairs(("tribunal", 1), ("stock", 1))
            found["times_stock_batch"] = pairs(("tribunal", 1), ("stock", 64))
        found["rewards"] = rewards
        print(found, flush=True)
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tribunal", nargs="?", default="target/release/tribunal")
    parser.add_argument("--stock", help="an interpreter with OpenRLHF's reward server")
    parser.add_argument("--before", metavar="OLD", help="an earlier build to hold each wire against")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3, help="of each loop")
    parser.add_argument("--only", nargs="*", help="these wires; `pattern` is OpenRLHF's pattern")
    options = parser.parse_args()
    fresh = seeds()
    if options.before:
        print(json.dumps({"builds": builds(options.tribunal, options, fresh)}))
        return
    out = {}
    if options.only != ["pattern"]:
        out["wires"] = wires(options.tribunal, options, fresh)
    if not options.only or "pattern" in options.only:
        out["openrlhf"] = openrlhf(options.tribunal, options, fresh)
    print(json.dumps(out))


if __name__ == "__main__":
    main()
