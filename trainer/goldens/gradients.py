"""Writes gradients.json beside it: losses, gradients and steps of AdamW as torch, transformers and
peft compute them on made models.

Needs torch, transformers and peft; from the root of the checkout:

    cargo run --release -p trainer --example gradient_folders -- FOLDER
    python trainer/goldens/gradients.py FOLDER

Models, adapter and batch are those of gradients_cases.json. Weights are read as f64 and everything
is differentiated by torch, one sequence at a time and without padding. Of every gradient the golden
has its norm, some entries, and its sums under signs that follow from the places of the entries: an
error of any entry shows in them.
"""

import json
import pathlib
import sys

import numpy
import peft
import torch
import transformers

HERE = pathlib.Path(__file__).parent
CASES = json.loads((HERE / "gradients_cases.json").read_text())
SEQUENCES = CASES["sequences"]
ENTRIES = 8
SIGNS = 4
BETA = 0.3
STEPS = 5
RATE = 0.01
ADAMW = {"betas": (0.9, 0.95), "eps": 1e-8}
DECAY = 0.1
CLIP = 20.0


def main():
    folder = pathlib.Path(sys.argv[1])
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    golden = {}
    for name in ("qwen3", "qwen2", "gemma2"):
        model = vocabulary(folder / name)
        golden[f"sft_{name}"] = differentiated(model, supervised(model))
    model = vocabulary(folder / "qwen3")
    golden["dpo"] = dpo(model)
    golden["grpo"] = grpo(vocabulary(folder / "qwen3"))
    golden["bradley_terry"] = bradley_terry(folder / "scores")
    model = peft.PeftModel.from_pretrained(
        vocabulary(folder / "qwen3"), folder / "adapter", is_trainable=True
    ).double()
    golden["sft_lora"] = differentiated(model, supervised(model))
    golden["adamw"] = adamw(vocabulary(folder / "qwen3"))
    (HERE / "gradients.json").write_text(written(golden, 3) + "\n")


def vocabulary(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager"
    ).eval()


def read(model):
    """Log-probabilities and entropies of each sequence's answer."""
    logps, entropies = [], []
    for sequence in SEQUENCES:
        n = len(sequence["prompt"])
        ids = torch.tensor([sequence["prompt"] + sequence["answer"]])
        logits = model(input_ids=ids, use_cache=False).logits[0, n - 1 : -1]
        all_logps = torch.log_softmax(logits.double(), dim=-1)
        answer = torch.tensor(sequence["answer"])[:, None]
        logps.append(all_logps.gather(1, answer)[:, 0])
        entropies.append(-(all_logps.exp() * all_logps).sum(-1))
    return logps, entropies


def supervised(model):
    """The mean over all tokens of all answers."""
    return -torch.cat(read(model)[0]).mean()


def near(logps, seed, spread):
    """Fixed numbers near these, as other weights would have them."""
    dice = numpy.random.default_rng(seed)
    return [
        (lp.detach() + torch.from_numpy(dice.uniform(-spread, spread, len(lp)))).round(decimals=4)
        for lp in logps
    ]


def dpo(model):
    logps, _ = read(model)
    reference = near(logps, 1, 0.8)
    gains = [(lp - ref).sum() for lp, ref in zip(logps, reference)]
    pairs = zip(gains[::2], gains[1::2])
    losses = [-torch.nn.functional.logsigmoid(BETA * (c - r)) for c, r in pairs]
    golden = {"beta": BETA, "reference": lists(reference)}
    return golden | differentiated(model, torch.stack(losses).mean())


def grpo(model):
    objective = CASES["objective"]
    logps, entropies = read(model)
    old, reference = near(logps, 2, 0.4), near(logps, 3, 0.5)
    dice = numpy.random.default_rng(4)
    advantages = [round(float(a), 3) for a in dice.uniform(-1.5, 1.5, len(logps))]
    low, high = 1 - objective["policy"]["low"], 1 + objective["policy"]["high"]
    means, clipped = [], 0
    for lp, h, before, ref, a in zip(logps, entropies, old, reference, advantages):
        ratio = (lp - before).exp()
        bound = ratio.clamp(low, high) * a
        clipped += int((bound < ratio * a).sum())
        token = -torch.minimum(ratio * a, bound)
        d = lp - ref
        token = token + objective["kl"]["weight"] * ((-d).exp() + d - 1)
        token = token - objective["entropy"] * h
        means.append(token.mean())
    assert clipped > 3, "the batch is to have clipped tokens"
    golden = {"old": lists(old), "reference": lists(reference), "advantages": advantages}
    return golden | differentiated(model, torch.stack(means).mean())


def bradley_terry(folder):
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager"
    ).eval()
    scores = [
        model(input_ids=torch.tensor([s["prompt"] + s["answer"]]), use_cache=False).logits[0, 0]
        for s in SEQUENCES
    ]
    margins = [0.0, 0.25, -0.5]
    centring = 0.01
    losses = [
        -torch.nn.functional.logsigmoid(c - r - margin) + centring * (c + r) ** 2
        for c, r, margin in zip(scores[::2], scores[1::2], margins)
    ]
    golden = {"margins": margins, "centring": centring}
    return golden | differentiated(model, torch.stack(losses).mean())


def gradient(step, parameter, n):
    """Numbers of both signs and many sizes, by a formula that any language can repeat."""
    at = numpy.arange(n, dtype=numpy.uint64) + numpy.uint64(1 + 7919 * parameter + 104729 * step)
    x = mixed(at)
    unit = (x >> numpy.uint64(40)).astype(numpy.float64) / 2**24 - 0.5
    size = (x & numpy.uint64(15)).astype(numpy.float64)
    # Exact in f32.
    return unit * 2.0**-size * (4.0 if step % 2 == 0 else 0.25)


def adamw(model):
    """Five steps on gradients by formula: those of even steps are clipped."""
    parameters = dict(model.named_parameters())
    names = sorted(parameters)
    before = {name: parameters[name].detach().clone() for name in names}
    decays = [n for n in names if parameters[n].dim() > 1 and "embed_tokens" not in n]
    groups = [
        {"params": [parameters[n] for n in decays], "weight_decay": DECAY},
        {"params": [parameters[n] for n in names if n not in decays], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=RATE, **ADAMW)
    norms = []
    for step in range(STEPS):
        for at, name in enumerate(names):
            shape = parameters[name].shape
            numbers = gradient(step, at, parameters[name].numel())
            parameters[name].grad = torch.from_numpy(numbers).reshape(shape)
        norms.append(float(torch.nn.utils.clip_grad_norm_(parameters.values(), CLIP)))
        optimiser.step()
    assert min(norms) < CLIP < max(norms), norms
    changes = {name: (parameters[name] - before[name]).detach() for name in names}
    return {
        "rate": RATE,
        "decay": DECAY,
        "clip": CLIP,
        "norms": norms,
        "changes": {name: summary(change) for name, change in changes.items()},
    }


def written(value, levels):
    """JSON with a line for each tensor."""
    if levels == 0 or not isinstance(value, dict):
        return json.dumps(value)
    lines = [f"{json.dumps(key)}: {written(one, levels - 1)}" for key, one in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def rounded(number):
    return float(f"{float(number):.9g}")


def lists(tensors):
    return [[round(x, 4) for x in tensor.tolist()] for tensor in tensors]


def differentiated(model, loss):
    model.zero_grad()
    loss.backward()
    gradients = {
        name.replace(".default.", "."): summary(parameter.grad)
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }
    return {"loss": float(loss.detach()), "gradients": gradients}


def mixed(x):
    x = x * numpy.uint64(0x9E3779B97F4A7C15)
    x = x ^ (x >> numpy.uint64(32))
    x = x * numpy.uint64(0xD6E8FEB86659FD93)
    return x ^ (x >> numpy.uint64(29))


def summary(tensor):
    numbers = tensor.detach().double().flatten().numpy()
    n = len(numbers)
    x = mixed(numpy.arange(1, n + 1, dtype=numpy.uint64))
    signs = [1.0 - 2.0 * ((x >> numpy.uint64(63 - bit)) & numpy.uint64(1)) for bit in range(SIGNS)]
    places = sorted({at * (n - 1) // (ENTRIES - 1) for at in range(ENTRIES)})
    largest = int(numpy.abs(numbers).argmax())
    return {
        "shape": list(tensor.shape),
        "norm": rounded(numpy.linalg.norm(numbers)),
        "signed": [rounded((sign * numbers).sum()) for sign in signs],
        "entries": [[at, rounded(numbers[at])] for at in sorted({*places, largest})],
    }


main()
