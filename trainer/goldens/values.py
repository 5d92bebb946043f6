"""Makes values.json: generalised advantages, the loss of values, NFT, and terms of reward models.

Needs torch; run it where it is installed, from any folder:

    python trainer/goldens/values.py

As in losses.py, every formula is written a second time, with automatic differentiation in double
precision and fixed seeds.
"""

import json
import math
import pathlib
import random

import torch

HERE = pathlib.Path(__file__).parent
torch.set_default_dtype(torch.float64)


def tensor(values, grad=False):
    return torch.tensor(values, requires_grad=grad)


def estimate(rewards, values, gamma, lam):
    """Advantages as the sum over later errors, and not by the recursion."""
    after = torch.cat([values[1:], torch.zeros(1)])
    delta = rewards + gamma * after - values
    n = len(rewards)
    own = [sum((gamma * lam) ** (k - t) * delta[k] for k in range(t, n)) for t in range(n)]
    return torch.stack(own)


def gae():
    cases = []
    options = [
        {},
        {"lambda": 1.0},
        {"lambda": 0.0, "whiten": False},
        {"gamma": 0.9, "lambda": 0.8},
        {"gamma": 0.9, "lambda": 0.5, "whiten": False},
    ]
    for seed, option in enumerate(options):
        rng = random.Random(900 + seed)
        groups, raw, returns = [], [], []
        for _ in range(2):
            group = []
            for length in (4, 1, 6):
                token_rewards = [rng.gauss(0, 0.05) for _ in range(length)]
                values = [rng.gauss(0.3, 0.4) for _ in range(length)]
                reward = rng.choice([0.0, 1.0, 0.4])
                group.append({"reward": reward, "token_rewards": token_rewards, "values": values})
                rewards = tensor(token_rewards)
                rewards[-1] += reward
                own = estimate(rewards, tensor(values), option.get("gamma", 1.0), option.get("lambda", 0.95))
                raw.append(own)
                returns.append((own + tensor(values)).tolist())
            groups.append(group)
        if option.get("whiten", True):
            flat = torch.cat(raw)
            raw = [(own - flat.mean()) / torch.sqrt(flat.var(unbiased=True)) for own in raw]
        advantages = [own.tolist() for own in raw]
        cases.append({"options": option, "groups": groups, "advantages": advantages, "returns": returns})
    return cases


def value_loss():
    cases = []
    for seed, clip in enumerate((0.2, 0.5, 1e3)):
        rng = random.Random(950 + seed)
        n = 12
        old = [rng.gauss(0.4, 0.3) for _ in range(n)]
        values = [o + rng.gauss(0, 0.4) for o in old]
        returns = [rng.random() for _ in range(n)]
        mask = [rng.random() > 0.2 for _ in range(n)]
        total = sum(mask) + 3
        v, o, r = tensor(values, grad=True), tensor(old), tensor(returns)
        held = torch.minimum(torch.maximum(v, o - clip), o + clip)
        loss = 0.5 * torch.maximum((v - r) ** 2, (held - r) ** 2)
        loss = (loss * tensor([float(m) for m in mask])).sum() / total
        grad = torch.autograd.grad(loss, v)[0]
        case = {"clip": clip, "values": values, "old": old, "returns": returns, "mask": mask}
        cases.append({**case, "total": total, "value": loss.item(), "grad": grad.tolist()})
    return cases


def nft():
    cases = []
    lengths = (3, 5, 1, 4)
    for seed, option in enumerate(
        (
            {},
            {"weight": "deviation"},
            {"weight": "even", "negative": 0.5},
            {"floor": 0.1},
            {"floor": 0.6, "weight": "deviation"},
        )
    ):
        rng = random.Random(970 + seed)
        cu = [0]
        for length in lengths:
            cu.append(cu[-1] + length)
        n = cu[-1]
        old = [-0.05 - 2.5 * rng.random() for _ in range(n)]
        logp = [min(-0.01, o + rng.gauss(0, 0.5)) for o in old]
        mask = [rng.random() > 0.15 or t in cu for t in range(n)]
        positive = [True, False, False, True]
        rates = [0.25, 0.25, 0.75, 1.0]
        lp = tensor(logp, grad=True)
        loss = torch.zeros(())
        for i, (start, end) in enumerate(zip(cu, cu[1:])):
            p = min(max(rates[i], 0.02), 0.98)
            kind = option.get("weight", "hardness")
            w = {"hardness": 1 - p, "deviation": math.sqrt((1 - p) / p), "even": 1.0}[kind]
            for t in range(start, end):
                if not mask[t]:
                    continue
                ratio = torch.clamp(lp[t] - old[t], max=10.0).exp()
                if positive[i]:
                    loss = loss - w * torch.log(ratio)
                else:
                    x = (1 - p * ratio) / (1 - p)
                    held = (torch.clamp(x, min=option.get("floor", 1.0)) - x).detach() + x
                    loss = loss - option.get("negative", 1.0) * w * torch.log(held)
        # The sum over tokens, by sequences times the longest response.
        loss = loss / (len(lengths) * 6)
        grad = torch.autograd.grad(loss, lp)[0]
        case = {"options": option, "cu_seqlens": cu, "mask": mask, "positive": positive, "pass_rates": rates}
        case = {**case, "logp": logp, "old": old}
        cases.append({**case, "value": loss.item(), "grad": grad.tolist()})
    return cases


def contrastive():
    cases = []
    for seed, (pairs, width, option) in enumerate(
        (
            (3, 4, {}),
            (5, 2, {"weight": 0.3, "temperature": 0.5}),
            (2, 8, {"temperature": 0.1}),
        )
    ):
        rng = random.Random(990 + seed)
        first, second = ([rng.gauss(0, 1) for _ in range(pairs * width)] for _ in range(2))
        a, b = tensor(first, grad=True), tensor(second, grad=True)
        cosines = torch.nn.functional.cosine_similarity(
            a.reshape(pairs, 1, width), b.reshape(1, pairs, width), dim=2
        )
        scores = cosines / option.get("temperature", 0.05)
        loss = option.get("weight", 1.0) * torch.nn.functional.cross_entropy(scores, torch.arange(pairs))
        grads = torch.autograd.grad(loss, (a, b))
        grad = [slope for grad in grads for slope in grad.tolist()]
        case = {"options": option, "width": width, "first": first, "second": second}
        cases.append({**case, "value": loss.item(), "grad": grad})
    return cases


def difference():
    cases = []
    for seed, cu in enumerate(([0, 2, 4], [0, 3, 4, 8])):
        rng = random.Random(995 + seed)
        scores = [rng.gauss(0, 1) for _ in range(cu[-1])]
        total = len(cu)
        s = tensor(scores, grad=True)
        value = torch.zeros(())
        for start, end in zip(cu, cu[1:]):
            pairs = [(i, j) for i in range(start, end) for j in range(i + 1, end)]
            apart = [torch.sigmoid((s[i] - s[j]).abs()) for i, j in pairs]
            if apart:
                value = value + torch.stack(apart).mean() / total
        grad = torch.autograd.grad(value, s)[0]
        case = {"scores": scores, "cu_lists": cu, "total": total}
        cases.append({**case, "value": value.item(), "grad": grad.tolist()})
    return cases


def main():
    parts = {"gae": gae(), "value_loss": value_loss(), "nft": nft()}
    parts |= {"contrastive": contrastive(), "difference": difference()}
    lines = []
    for name, part in parts.items():
        rows = ",\n".join("  " + json.dumps(case) for case in part)
        lines.append(f" {json.dumps(name)}: [\n{rows}\n ]")
    (HERE / "values.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
