"""Writes the goldens of the parity tests: what transformers and peft compute on folders that
`cargo run --release -p models --example parity_folders` has made.

`cargo xtask parity` calls it. Everything is computed on the CPU in f32, one sequence at a time and
without padding. A folder that transformers or peft would read with a tensor missing, left over or
misshapen, or whose tensors transformers itself would call otherwise, is an error.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy
import peft
import torch
import transformers

import folders
from reference import Reference

LENGTHS = (1, 17, 300)
COLUMNS = 32
ROWS = 3
HEAD_ROWS = 9
GENERATED = 12
# Below this distance between the best two tokens a rounding could choose another.
MIN_MARGIN = 1e-3
# Prompts use no special token: their ids begin at 300.
PROMPT_VOCABULARY = 300

CHATS = [
    [{"role": "user", "content": "What is 7 + 5?"}],
    [
        {"role": "system", "content": "You are an assistant of the user."},
        {"role": "user", "content": "Is 12 the answer to 7 + 5?\n\n  λ → 🦀"},
        {"role": "assistant", "content": "It is."},
        {"role": "user", "content": ""},
    ],
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folders", type=Path, required=True, help="what parity_folders made")
    parser.add_argument("--goldens", type=Path, required=True, help="where goldens are written")
    args = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    cases = json.loads((args.goldens / "cases.json").read_text())
    prompts = {length: prompt(length) for length in LENGTHS}
    specs = {case["name"]: case["spec"] for case in cases["models"]}
    for kind in ("models", "adapters"):
        drop_others(args.goldens / kind, {case["name"] for case in cases[kind]})
    for name, spec in specs.items():
        golden = model_golden(args.folders / name, spec.get("head", "vocab"), prompts)
        write(args.goldens / "models" / f"{name}.json", golden)
    for case in cases["adapters"]:
        golden = adapter_golden(args.folders, case, prompts)
        write(args.goldens / "adapters" / f"{case['name']}.json", golden)
    write(args.goldens / "reference.json", shared(args.folders / "qwen2", prompts))


def drop_others(folder, names):
    """Goldens of cases that are no more."""
    for path in folder.glob("*.json"):
        if path.stem not in names:
            path.unlink()


def prompt(length):
    """Token ids from a generator that any language can repeat (Knuth's MMIX)."""
    state, ids = length, []
    for _ in range(length):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        ids.append((state >> 33) % PROMPT_VOCABULARY)
    return ids


def model_golden(folder, head, prompts):
    folders.check_config(folder)
    reference = folders.load(folder, head)
    folders.check_names(folder, reference)
    golden = {"weights": folders.digest(folder, "model*.safetensors")}
    return golden | outputs(reference, prompts)


def adapter_golden(parent, case, prompts):
    folder, base = parent / case["name"], parent / case["base"]
    reference = folders.load_adapter(folder, base, case["spec"].get("score_labels"))
    golden = {"weights": folders.digest(folder, "adapter_model.safetensors")}
    golden |= {"base": case["base"]} | outputs(reference, prompts)
    if reference.has_vocabulary:
        plain = folders.load(base, "vocab")
        change = reference.logits(prompts[17]) - plain.logits(prompts[17])
        if change.abs().max() < 0.1:
            raise ValueError(f"{folder.name} hardly changes its base")
    return golden


def outputs(reference: Reference, prompts):
    golden = {
        "prompts": [
            {
                "length": length,
                "vocab": vocabulary(reference, ids) if reference.has_vocabulary else None,
                "head": head_outputs(reference, ids) if reference.head else None,
            }
            for length, ids in prompts.items()
        ]
    }
    if reference.has_vocabulary:
        golden["generated"] = [generated(reference, prompts[length]) for length in (17, 300)]
    return golden


def spread(n, count):
    """At most `count` of 0..n, first and last among them."""
    return sorted({round(i) for i in numpy.linspace(0, n - 1, count)})


def vocabulary(reference, ids):
    logits = reference.logits(ids)
    rows = spread(len(ids), ROWS)
    columns = spread(logits.shape[1], COLUMNS)
    return {
        "rows": rows,
        "columns": columns,
        "logits": numbers(logits[rows][:, columns]),
        "logsumexp": numbers(logits.logsumexp(1)),
    }


def head_outputs(reference, ids):
    rows = [len(ids) - 1] if reference.last_row_only else spread(len(ids), HEAD_ROWS)
    return {"rows": rows, "outputs": numbers(reference.head_outputs(ids, rows))}


def generated(reference, ids):
    """Greedy tokens with a KV cache, and the logits that chose each at some columns."""
    tokens, steps = [], reference.greedy(ids, GENERATED)
    columns = spread(steps.shape[1], 4)
    for step in steps:
        best = step.topk(2).values
        if best[0] - best[1] < MIN_MARGIN:
            raise ValueError(f"{reference.name}: two tokens are as good; take another seed")
        tokens.append(int(step.argmax()))
    chosen = numbers(steps[:, columns])
    return {"length": len(ids), "tokens": tokens, "columns": columns, "logits": chosen}


def shared(folder, prompts):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    chats = []
    for messages in CHATS:
        for prompted in (False, True):
            text = tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=prompted
            )
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            chats.append(
                {
                    "messages": messages,
                    "add_generation_prompt": prompted,
                    "text": text,
                    "token_ids": ids,
                }
            )
    versions = {m.__name__: m.__version__ for m in (torch, transformers, peft)}
    return {
        "versions": versions,
        "prompts": [{"length": n, "token_ids": ids} for n, ids in prompts.items()],
        "chats": chats,
    }


def numbers(tensor):
    """Lists of the shortest decimals that are these f32 numbers."""
    if not torch.isfinite(tensor).all():
        raise ValueError("an output is not finite")
    if tensor.dim() > 1:
        return [numbers(row) for row in tensor]
    return [float(str(x)) for x in tensor.to(torch.float32).numpy()]


def write(path, golden):
    """One line for each innermost list, so that a changed golden shows where."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(pretty(golden, 0) + "\n")
    print(f"wrote {path.name}", flush=True)


def pretty(value, depth):
    inner = "\n" + "  " * (depth + 1)
    outer = "\n" + "  " * depth
    if isinstance(value, dict) and value:
        items = (f"{json.dumps(k)}: {pretty(v, depth + 1)}" for k, v in value.items())
        return "{" + inner + f",{inner}".join(items) + outer + "}"
    if isinstance(value, list) and any(isinstance(v, (list, dict)) for v in value):
        items = (pretty(v, depth + 1) for v in value)
        return "[" + inner + f",{inner}".join(items) + outer + "]"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    sys.exit(main())
