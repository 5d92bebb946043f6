"""Makes losses.json, the golden numbers of trainer/src/losses and trainer/src/advantages.

Needs torch; run it where it is installed, from any folder:

    python trainer/goldens/losses.py

Every formula is written here a second time, from the papers' definitions and with automatic
differentiation in double precision, so that no gradient is derived by hand twice. What a formula
holds constant is detached. Inputs come from Python's own generator with fixed seeds: running this
again changes nothing but, at most, the last digits.
"""

import json
import math
import pathlib
import random

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
torch.set_default_dtype(torch.float64)


def tensor(values, grad=False):
    return torch.tensor(values, requires_grad=grad)


# Tokens


class Batch:
    """Random tokens of a few sequences, near enough that some ratios are clipped and some not."""

    def __init__(self, seed, lengths=(3, 5, 1, 4), token_advantages=False, spread=0.35):
        rng = random.Random(seed)
        self.cu = [0]
        for length in lengths:
            self.cu.append(self.cu[-1] + length)
        n = self.cu[-1]
        self.mask = [rng.random() > 0.15 for _ in range(n)]
        for start, end in self.ranges():
            self.mask[start] = True
        self.old = [-0.05 - 2.5 * rng.random() for _ in range(n)]
        self.logp = [min(-0.01, o + rng.gauss(0, spread)) for o in self.old]
        self.behaviour = [min(-0.01, o + rng.gauss(0, spread)) for o in self.old]
        self.reference = [min(-0.01, o + rng.gauss(0, 0.5)) for o in self.old]
        self.entropies = [0.1 + rng.random() for _ in range(n)]
        self.credit = [rng.random() for _ in range(n)]
        self.factors = [0.2 + rng.random() for _ in range(n)]
        own = [rng.choice([-1, 1]) * (0.2 + rng.random()) for _ in lengths]
        self.positive = [a > 0 for a in own]
        self.advantages = []
        for (start, end), a in zip(self.ranges(), own):
            self.advantages += [a * (rng.uniform(0.3, 1.5) if token_advantages else 1.0) for _ in range(end - start)]
        self.streams = ["player"] * len(lengths)

    def ranges(self):
        return list(zip(self.cu, self.cu[1:]))

    def counted(self, index):
        start, end = self.ranges()[index]
        return [t for t in range(start, end) if self.mask[t]]

    def sequence_of(self, token):
        return next(i for i, (a, b) in enumerate(self.ranges()) if a <= token < b)


def weights(batch, how, shares, limits):
    """The weight of each token: all that aggregation is."""
    result = [0.0] * len(batch.mask)
    for stream in set(batch.streams):
        mine = [i for i, s in enumerate(batch.streams) if s == stream and batch.counted(i)]
        n_tokens = sum(len(batch.counted(i)) for i in mine)
        for i in mine:
            n = len(batch.counted(i))
            if stream in ("ce", "ref_kl") or how == "token_mean":
                divisor = n_tokens
            elif how == "seq_mean_token_mean":
                divisor = len(mine) * n
            elif how == "bnpo":
                divisor = n_tokens * limits["micro_batches"]
            elif how == "dr_grpo":
                divisor = len(mine) * limits["max_tokens"]
            elif how == "seq_mean_token_sum":
                divisor = len(mine)
            else:
                raise ValueError(how)
            for t in batch.counted(i):
                result[t] = shares.get(stream, 1.0) / divisor
    return tensor(result)


def with_gradient(case, loss, inputs):
    grad = torch.autograd.grad(loss, inputs)[0]
    return {**case, "value": loss.item(), "grad": grad.flatten().tolist()}


def ratio(above, below):
    return torch.clamp(above - below, -20.0, 20.0).exp()


def sequence_mean(batch, values):
    """For every token the mean of values over the counted tokens of its sequence."""
    out = torch.zeros_like(values)
    for i, (start, end) in enumerate(batch.ranges()):
        out[start:end] = values[batch.counted(i)].mean()
    return out


def ppo(r, a, low, high, cap=None, dual=None):
    free = torch.clamp(r, max=cap) if cap is not None else r
    loss = -torch.minimum(free * a, torch.clamp(r, 1 - low, 1 + high) * a)
    if dual is not None:
        loss = torch.where(a < 0, torch.minimum(loss, -dual * a), loss)
    return loss


def policy_terms(batch, policy, logp, old, behaviour, a):
    """The policy loss of each token, before weights."""
    o = dict(policy)
    kind = o.pop("kind")
    r = ratio(logp, old)
    if kind == "reinforce":
        return -a * logp
    if kind in ("ppo", "grpo", "dr_grpo", "dapo"):
        high = o.get("high", 0.28 if kind == "dapo" else 0.2)
        return ppo(r, a, o.get("low", 0.2), high, o.get("ratio_cap"), o.get("dual_clip"))
    if kind == "stable_reinforce":
        clipped = torch.clamp(logp - old, math.log(1e-3), math.log(1e3)).exp()
        return ppo(clipped, a, 0.2, 0.2)
    if kind == "gspo":
        s = sequence_mean(batch, logp - old).detach()
        token = torch.clamp(s + logp - logp.detach(), max=10.0).exp()
        return ppo(token, a, o.get("low", 3e-4), o.get("high", 4e-4))
    if kind.startswith("cispo"):
        if kind == "cispo_trl":
            held = torch.clamp(r, max=o.get("high", 5.0))
        elif kind == "cispo_verl":
            held = torch.clamp(r, 1 - o.get("low", 0.2), 1 + o.get("high", 0.2))
        else:
            held = torch.clamp(r, 1 - o.get("low", 1.0), 1 + o.get("high", 4.0))
        return -held.detach() * a * logp
    if kind == "aipo":
        return -torch.clamp(ratio(logp, behaviour), max=o.get("cap", 2.0)).detach() * a * logp
    if kind == "sapo":
        tau = torch.where(a > 0, o.get("positive", 1.0), o.get("negative", 1.05))
        return -a * torch.sigmoid(tau * (r - 1)) * 4 / tau
    if kind == "dppo":
        moved = logp.exp() - behaviour.exp()
        dropped = ((a > 0) & (moved > o.get("high", 0.2))) | ((a < 0) & (moved < -o.get("low", 0.2)))
        gain = torch.where(dropped, 0.0, a * ratio(logp, behaviour))
        return -gain + o.get("kl_weight", 1e-3) * (logp - behaviour) ** 2
    if kind == "decoupled_ppo":
        proximal = behaviour if o.get("proximal") == "behaviour" else old
        if o.get("level") == "sequence":
            rho = sequence_mean(batch, logp - proximal).clamp(-20, 20).exp()
            w = sequence_mean(batch, proximal - behaviour).clamp(-20, 20).exp()
            a = sequence_mean(batch, a)
        else:
            rho, w = ratio(logp, proximal), ratio(proximal, behaviour)
        cap = o.get("weight_cap", 5.0)
        loss = ppo(rho, a, o.get("low", 0.2), o.get("high", 0.2), dual=o.get("dual_clip"))
        if o.get("beyond_cap") == "clamp":
            return loss * torch.clamp(w, max=cap)
        return torch.where(w > cap, torch.zeros_like(loss), loss * w)
    raise ValueError(kind)


def oreal_terms(batch, policy, logp, a):
    """OREAL's loss of each token, by the number of tokens of its sign."""
    credit = policy.get("credit", {"threshold": {"at": 0.5}})
    out = torch.zeros_like(logp)
    n = {sign: sum(len(batch.counted(i)) for i, p in enumerate(batch.positive) if p == sign) for sign in (True, False)}
    for i, positive in enumerate(batch.positive):
        tokens = batch.counted(i)
        p = tensor([batch.credit[t] if positive else 1 - batch.credit[t] for t in tokens])
        if credit == "even":
            w = torch.ones_like(p)
        elif "threshold" in credit:
            at = credit["threshold"]["at"]
            w = torch.clamp((p - at) / (1 - at), 0, 1)
        else:
            k = int(len(tokens) * credit["top_share"]["share"])
            w = torch.zeros_like(p)
            if k:
                best = torch.topk(p, k)
                lo, hi = best.values.min(), best.values.max()
                w[best.indices] = (best.values - lo) / (hi - lo) if hi != lo else torch.ones(k)
        if positive:
            gain = a[tokens] if policy.get("positive_times_advantage", True) else 1.0
            own = w * -logp[tokens] * gain * policy.get("positive_factor", 1.0)
        else:
            rho = (logp[tokens] - logp[tokens].detach()).exp()
            own = -rho * a[tokens] * w * policy.get("negative_factor", 0.5)
        out[tokens] = own / n[positive]
    return out


def kl_terms(estimator, logp, reference, r):
    d = logp - reference
    k3 = torch.clamp(-d, -20, 20).exp() + torch.clamp(d, -20, 20) - 1
    if estimator == "k1":
        return d
    if estimator == "k2":
        return d**2 / 2
    if estimator == "k3":
        return k3
    if estimator == "k3_plus":
        return d**2 / 2 - (d**2 / 2).detach() + k3.detach()
    if estimator == "unbiased":
        return r * k3
    raise ValueError(estimator)


def correction_factors(batch, correction, logp, old, behaviour, a):
    o = dict(correction)
    kind = o.pop("kind")
    w = ratio(old, behaviour)
    mean = sequence_mean(batch, old - behaviour)
    if kind == "tis":
        return torch.clamp(w, max=o.get("cap", 2.0))
    if kind == "ice_pop":
        return torch.where((w >= o.get("low", 0.5)) & (w <= o.get("high", 5.0)), w, 0.0)
    if kind == "sequence_mis":
        product = torch.zeros_like(w)
        for i, (start, end) in enumerate(batch.ranges()):
            product[start:end] = (old - behaviour)[batch.counted(i)].sum().exp()
        kept = (product >= o.get("low", 0.5)) & (product <= o.get("high", 2.0))
        return torch.where(kept, product if o.get("weighted", True) else 1.0, 0.0)
    if kind == "geometric_mask":
        g = mean.exp()
        return ((g >= o.get("low", 0.99)) & (g <= o.get("high", 1.01))).double()
    if kind == "opsm":
        moved = sequence_mean(batch, behaviour - logp.detach()) > o["delta"]
        return (~(moved & (a < 0))).double()
    raise ValueError(kind)


DEFAULT = {
    "reinforce": "token_mean",
    "ppo": "token_mean",
    "grpo": "seq_mean_token_mean",
    "dr_grpo": "dr_grpo",
    "dapo": "token_mean",
    "gspo": "seq_mean_token_mean",
    "sapo": "seq_mean_token_mean",
    "stable_reinforce": "seq_mean_token_mean",
}


def objective_case(name, objective, batch, given=(), shares=None):
    """One objective on one batch: `given` names the optional lists that go into the case."""
    limits = {"max_tokens": 6, "micro_batches": 1}
    shares = shares or {}
    policy = objective["policy"]
    how = objective.get("aggregation") or DEFAULT.get(policy["kind"], "token_mean")
    w = weights(batch, how, shares, limits)
    logp = tensor(batch.logp, grad=True)
    old, a = tensor(batch.old), tensor(batch.advantages)
    behaviour = tensor(batch.behaviour) if "behaviour" in given else old
    entropies = tensor(batch.entropies, grad=True)
    stream = [batch.streams[batch.sequence_of(t)] for t in range(len(batch.mask))]
    is_policy = tensor([float(s in ("player", "judge")) for s in stream])
    factor = torch.ones_like(logp)
    if "factors" in given:
        factor = factor * tensor(batch.factors)
    if objective.get("correction"):
        factor = factor * correction_factors(batch, objective["correction"], logp, old, behaviour, a)
    if policy["kind"] == "oreal":
        counted = tensor([float(m) for m in batch.mask])
        loss = (oreal_terms(batch, policy, logp, a) * factor * counted).sum()
    else:
        terms = policy_terms(batch, policy, logp, old, behaviour, a)
        loss = (w * is_policy * factor * terms).sum()
    if objective.get("kl"):
        kl = objective["kl"]
        estimate = kl_terms(kl.get("estimator", "k3"), logp, tensor(batch.reference), ratio(logp, old))
        loss = loss + kl["weight"] * (w * is_policy * estimate).sum()
    loss = loss - objective.get("entropy", 0.0) * (w * is_policy * entropies).sum()
    loss = loss - (w * tensor([float(s == "ce") for s in stream]) * logp).sum()
    if "ref_kl" in stream:
        estimate = kl_terms("k3", logp, tensor(batch.reference), None)
        loss = loss + (w * tensor([float(s == "ref_kl") for s in stream]) * estimate).sum()
    grad, entropy_grad = torch.autograd.grad(loss, (logp, entropies), allow_unused=True)
    tokens = {
        "cu_seqlens": batch.cu,
        "mask": batch.mask,
        "streams": batch.streams,
        "positive": batch.positive,
        "logp": batch.logp,
        "old": batch.old,
        "advantages": batch.advantages,
    }
    for field in given:
        tokens[field] = getattr(batch, field)
    return {
        "name": name,
        "objective": objective,
        "shares": shares,
        "limits": limits,
        "tokens": tokens,
        "value": loss.item(),
        "grad": grad.tolist(),
        "entropy_grad": entropy_grad.tolist() if "entropies" in given else [],
    }


def objectives():
    cases = []

    def add(name, objective, given=(), shares=None, streams=None, **batch):
        made = Batch(len(cases) + 1, **batch)
        made.streams = streams or made.streams
        cases.append(objective_case(name, objective, made, given, shares))

    ta = {"token_advantages": True}
    add("reinforce", {"policy": {"kind": "reinforce"}}, **ta)
    add("ppo", {"policy": {"kind": "ppo"}}, **ta)
    add("ppo cap", {"policy": {"kind": "ppo", "ratio_cap": 1.3}}, spread=0.8, **ta)
    add("ppo dual", {"policy": {"kind": "ppo", "dual_clip": 1.2}}, spread=0.8, **ta)
    add("grpo", {"policy": {"kind": "grpo"}})
    add("grpo k3", {"policy": {"kind": "grpo"}, "kl": {"weight": 0.04}}, ["reference"])
    add("dr_grpo", {"policy": {"kind": "dr_grpo"}})
    add("dapo", {"policy": {"kind": "dapo"}})
    add("dapo far", {"policy": {"kind": "dapo"}}, spread=1.0, **ta)
    for how in ("seq_mean_token_mean", "token_mean", "bnpo", "dr_grpo", "seq_mean_token_sum"):
        add("aggregation " + how, {"policy": {"kind": "ppo"}, "aggregation": how}, **ta)
    add("gspo", {"policy": {"kind": "gspo"}}, spread=3e-4)
    add("gspo wide", {"policy": {"kind": "gspo", "low": 0.2, "high": 0.3}}, spread=0.5)
    for kind in ("cispo_trl", "cispo_verl", "cispo_skyrl"):
        add(kind, {"policy": {"kind": kind}}, spread=1.2, **ta)
    add("sapo", {"policy": {"kind": "sapo"}}, **ta)
    add("dppo", {"policy": {"kind": "dppo"}}, ["behaviour"], **ta)
    add("dppo far", {"policy": {"kind": "dppo", "kl_weight": 0.1}}, ["behaviour"], spread=1.5, **ta)
    add("aipo", {"policy": {"kind": "aipo"}}, ["behaviour"], spread=0.9, **ta)
    add("stable_reinforce", {"policy": {"kind": "stable_reinforce"}}, spread=4.0, **ta)
    for credit in ({"threshold": {"at": 0.5}}, {"top_share": {"share": 0.5}}, "even"):
        for times in (True, False):
            policy = {"kind": "oreal", "credit": credit, "positive_times_advantage": times}
            add("oreal", {"policy": policy, "kl": {"weight": 0.01}}, ["reference", "credit"], lengths=(4, 6, 5, 3))
    decoupled = [
        {},
        {"weight_cap": 1.1},
        {"weight_cap": 1.1, "beyond_cap": "clamp"},
        {"dual_clip": 1.1},
        {"level": "sequence"},
        {"level": "sequence", "weight_cap": 1.05, "beyond_cap": "clamp"},
        {"proximal": "behaviour"},
    ]
    for options in decoupled:
        add("decoupled_ppo", {"policy": {"kind": "decoupled_ppo", **options}}, ["behaviour"], spread=0.5, **ta)
    corrections = [
        {"kind": "tis"},
        {"kind": "tis", "cap": 1.1},
        {"kind": "ice_pop"},
        {"kind": "ice_pop", "low": 0.8, "high": 1.2},
        {"kind": "sequence_mis"},
        {"kind": "sequence_mis", "weighted": False, "high": 1.5},
        {"kind": "geometric_mask", "low": 0.9, "high": 1.1},
        {"kind": "opsm", "delta": 0.05},
    ]
    for correction in corrections:
        add("correction", {"policy": {"kind": "grpo"}, "correction": correction}, ["behaviour"])
    for estimator in ("k1", "k2", "k3", "k3_plus", "unbiased"):
        kl = {"weight": 0.3, "estimator": estimator}
        add("kl " + estimator, {"policy": {"kind": "reinforce"}, "kl": kl}, ["reference"])
    add("entropy", {"policy": {"kind": "dapo"}, "entropy": 0.01}, ["entropies"])
    add("factors", {"policy": {"kind": "grpo"}, "kl": {"weight": 0.1}}, ["factors", "reference"])
    add(
        "streams",
        {"policy": {"kind": "grpo"}, "kl": {"weight": 0.05}},
        ["reference"],
        shares={"judge": 0.5, "ce": 0.1, "ref_kl": 2.0},
        streams=["player", "judge", "ce", "judge", "ref_kl", "player"],
        lengths=(3, 4, 5, 2, 3, 4),
    )
    return cases


def m2po():
    cases = []
    for seed, bound in ((1, 0.04), (2, 0.1), (3, 1e-9), (4, 10.0)):
        batch = Batch(seed)
        delta = tensor(batch.old) - tensor(batch.behaviour)
        counted = [t for t in range(len(batch.mask)) if batch.mask[t]]
        squares = (delta**2)[counted]
        order = torch.argsort(squares, descending=True)
        dropped = 0
        while dropped < len(counted) - 1 and squares[order[dropped:]].mean() >= bound:
            dropped += 1
        keep = [1.0] * len(batch.mask)
        for place in order[:dropped].tolist():
            keep[counted[place]] = 0.0
        case = {"bound": bound, "cu_seqlens": batch.cu, "mask": batch.mask, "keep": keep}
        cases.append({**case, "old": batch.old, "behaviour": batch.behaviour})
    return cases


# Scores


def pairs():
    cases = []
    for seed in range(6):
        rng = random.Random(100 + seed)
        n = 4
        chosen = [rng.gauss(0.5, 1.5) for _ in range(n)]
        rejected = [rng.gauss(-0.5, 1.5) for _ in range(n)]
        margins = [rng.random() for _ in range(n)] if seed in (1, 4) else None
        doubts = [rng.choice([0.0, 0.2, 0.7, 1.0]) for _ in range(n)] if seed in (2, 4) else None
        given = [rng.random() for _ in range(n)] if seed in (3, 4) else None
        options = {"centring": 0.01 if seed in (4, 5) else 0.0, "smoothing": 0.1 if seed in (2, 5) else 0.0}
        total = 7
        c, r = tensor(chosen, grad=True), tensor(rejected, grad=True)
        z = c - r - (tensor(margins) if margins else 0.0)
        y = 1 - (tensor(doubts) if doubts else torch.zeros(n))
        q = (1 - options["smoothing"]) * y + options["smoothing"] / 2
        loss = -(q * F.logsigmoid(z) + (1 - q) * F.logsigmoid(-z))
        loss = (loss * (tensor(given) if given else 1.0)).sum() / total
        loss = loss + options["centring"] * ((c + r) ** 2).sum() / total
        grads = torch.autograd.grad(loss, (c, r))
        case = {"options": options, "chosen": chosen, "rejected": rejected, "total": total}
        case |= {"margins": margins, "doubts": doubts, "weights": given}
        cases.append({**case, "value": loss.item(), "grad": torch.cat(grads).tolist()})
    return cases


def rankings():
    cases = []
    for seed, lengths in enumerate([(2,), (4,), (3, 1, 5)]):
        rng = random.Random(200 + seed)
        cu = [0]
        for length in lengths:
            cu.append(cu[-1] + length)
        scores = [rng.gauss(0, 2) for _ in range(cu[-1])]
        s = tensor(scores, grad=True)
        loss = 0.0
        for a, b in zip(cu, cu[1:]):
            for k in range(a, b):
                loss = loss - (s[k] - torch.logsumexp(s[k:b], 0)) / 5
        case = {"scores": scores, "cu_lists": cu, "total": 5}
        cases.append(with_gradient(case, loss, s))
    return cases


def direct():
    kinds = [
        {"kind": "dpo"},
        {"kind": "dpo", "beta": 0.5, "smoothing": 0.1},
        {"kind": "robust", "beta": 0.3, "flips": 0.2},
        {"kind": "ipo", "beta": 0.2},
    ]
    cases = []
    for kind in kinds:
        for variant in ("plain", "weighted", "no reference"):
            batch = Batch(300 + len(cases), lengths=(3, 4, 5, 2))
            given = [0.3, 1.7] if variant == "weighted" else None
            reference = None if variant == "no reference" else batch.reference
            beta = kind.get("beta", 0.1)
            logp = tensor(batch.logp, grad=True)
            gain = logp - (tensor(reference) if reference else 0.0)
            loss = 0.0
            for pair in range(2):
                c, r = (gain[batch.counted(2 * pair + k)] for k in (0, 1))
                if kind["kind"] == "ipo":
                    own = (c.mean() - r.mean() - 1 / (2 * beta)) ** 2
                else:
                    z = beta * (c.sum() - r.sum())
                    plus, minus = -F.logsigmoid(z), -F.logsigmoid(-z)
                    if kind["kind"] == "dpo":
                        e = kind.get("smoothing", 0.0)
                        own = (1 - e) * plus + e * minus
                    else:
                        e = kind["flips"]
                        own = ((1 - e) * plus - e * minus) / (1 - 2 * e)
                loss = loss + own * (given[pair] if given else 1.0) / 3
            case = {"kind": kind, "cu_seqlens": batch.cu, "mask": batch.mask, "logp": batch.logp}
            case |= {"reference": reference, "weights": given, "total": 3}
            cases.append(with_gradient(case, loss, logp))
    return cases


def process():
    rng = random.Random(400)
    logits = [[rng.gauss(0, 2), rng.gauss(0, 2)] for _ in range(6)]
    labels = [1.0, 0.0, None, 0.3, 1.0, None]
    x = tensor(logits, grad=True)
    loss = 0.0
    for i, label in enumerate(labels):
        if label is not None:
            lp = F.log_softmax(x[i], 0)
            loss = loss - (label * lp[1] + (1 - label) * lp[0]) / 5
    two = with_gradient({"logits": logits, "labels": labels, "total": 5}, loss, x)
    one = [rng.gauss(0, 3) for _ in range(6)]
    x = tensor(one, grad=True)
    known = [i for i, label in enumerate(labels) if label is not None]
    targets = tensor([labels[i] for i in known])
    loss = F.binary_cross_entropy_with_logits(x[known], targets, reduction="sum") / 5
    single = with_gradient({"logits": one, "labels": labels, "total": 5}, loss, x)
    return {"two_class": two, "binary": single}


def progress():
    rng = random.Random(500)
    cu, rewards = [0, 3, 3, 7], [1.0, 0.25, 0.0]
    contributions = [rng.gauss(0.2, 0.3) for _ in range(7)]
    c = tensor(contributions, grad=True)
    sums = torch.stack([c[a:b].sum() for a, b in zip(cu, cu[1:])])
    loss = F.mse_loss(sums, tensor(rewards), reduction="sum") / 4
    case = {"contributions": contributions, "cu_episodes": cu, "rewards": rewards, "total": 4}
    return with_gradient(case, loss, c)


def token_reward():
    rng = random.Random(600)
    cu, positive = [0, 4, 6, 9], [True, False, True]
    scores = [rng.gauss(0, 1) for _ in range(9)]
    s = tensor(scores, grad=True)
    credit, loss = [], 0.0
    for a, b, p in zip(cu, cu[1:], positive):
        means = torch.cumsum(s[a:b], 0) / torch.arange(1, b - a + 1)
        credit += torch.sigmoid(means).tolist()
        loss = loss + F.binary_cross_entropy_with_logits(s[a:b].mean(), tensor(float(p))) / 4
    case = {"scores": scores, "cu_seqlens": cu, "positive": positive, "total": 4, "credit": credit}
    return with_gradient(case, loss, s)


# Advantages


def std(values, unbiased):
    return torch.std(values, correction=1 if unbiased else 0)


def standardised(values, unbiased=True, epsilon=1e-4):
    return (values - values.mean()) / (std(values, unbiased) + epsilon)


def cut(values, like):
    out, at = [], 0
    for part in like:
        out.append(values[at : at + len(part)].tolist())
        at += len(part)
    return out


def returns(rewards, gamma):
    out = list(rewards)
    for t in range(len(out) - 2, -1, -1):
        out[t] += gamma * out[t + 1]
    return out


def on_tokens(episode, values, outside):
    out = [outside] * episode["n_tokens"]
    for step, value in zip(episode["steps"], values):
        for t in range(step["start"], step["end"]):
            out[t] = value
    return out


def towards(episode, values):
    out = []
    for t in range(episode["n_tokens"]):
        ahead = [v for s, v in zip(episode["steps"], values) if t < s["end"]]
        out.append(ahead[0] if ahead else (values[-1] if values else 0.0))
    return out


def episode(reward, n_tokens, steps=(), token_rewards=()):
    return {"reward": reward, "n_tokens": n_tokens, "steps": list(steps), "token_rewards": list(token_rewards)}


def outcome_groups():
    rng = random.Random(700)
    rewards = ([1.0, 0.0, 0.0, 1.0], [0.5, 0.25, 0.9], [0.0, 1.0])
    groups = [[episode(r, rng.randint(1, 4)) for r in group] for group in rewards]
    for e in groups[1]:
        e["token_rewards"] = [-0.1 * rng.random() for _ in range(e["n_tokens"])]
    return groups


def per_group(groups, of):
    out = []
    for group in groups:
        totals = tensor([e["reward"] + sum(e["token_rewards"]) for e in group])
        out.append([[a] * e["n_tokens"] for e, a in zip(group, of(totals).tolist())])
    return out


def batch_returns(groups, gamma):
    rows = []
    for group in groups:
        for e in group:
            rewards = list(e["token_rewards"]) or [0.0] * e["n_tokens"]
            rewards[-1] += e["reward"]
            rows.append(returns(rewards, gamma))
    return rows


def regrouped(rows, groups):
    rows = iter(rows)
    return [[next(rows) for _ in group] for group in groups]


def whitened(rows, unbiased=False, floor=1e-8):
    flat = tensor([v for row in rows for v in row])
    variance = torch.var(flat, correction=1 if unbiased else 0)
    return cut((flat - flat.mean()) / variance.clamp(min=floor).sqrt(), rows), flat.mean().item()


def step_groups():
    rng = random.Random(800)
    groups = []
    for n in (3, 2):
        group = []
        for i in range(n):
            steps, at = [], rng.randint(0, 1)
            for _ in range(rng.randint(2, 4)):
                end = at + rng.randint(1, 2)
                steps.append({"start": at, "end": end})
                at = end + rng.randint(0, 1)
            group.append(episode(float(i % 2), at + rng.randint(0, 1), steps))
        groups.append(group)
    return groups, rng


def advantages():
    cases = []

    def add(kind, groups, values):
        cases.append({"kind": kind, "groups": json.loads(json.dumps(groups)), "advantages": values})

    plain = outcome_groups()
    add({"kind": "grpo"}, plain, per_group(plain, standardised))
    spark = {"kind": "grpo", "variance": "unbiased", "epsilon": 1e-9}
    add(spark, plain, per_group(plain, lambda r: standardised(r, epsilon=1e-9)))
    biased = {"kind": "grpo", "variance": "population", "epsilon": 1e-4}
    add(biased, plain, per_group(plain, lambda r: standardised(r, unbiased=False)))
    add({"kind": "mean"}, plain, per_group(plain, lambda r: r - r.mean()))
    add({"kind": "rloo"}, plain, per_group(plain, lambda r: r - (r.sum() - r) / (len(r) - 1)))
    add({"kind": "max_rl"}, plain, per_group(plain, lambda r: (r - r.mean()) / r.mean()))
    for gamma in (1.0, 0.9):
        rows, _ = whitened(batch_returns(plain, gamma))
        add({"kind": "reinforce_plus_plus", "gamma": gamma}, plain, regrouped(rows, plain))
    relative = per_group(plain, lambda r: r - r.mean())
    rows, _ = whitened([row for group in relative for row in group])
    add({"kind": "reinforce_plus_plus_baseline"}, plain, regrouped(rows, plain))
    far = [[episode(r, 2) for r in (0.0, 0.1, 0.0, 0.2, 0.1, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 9.0)]]
    rows, mean = whitened(batch_returns(far, 1.0))
    for middle, centre in (("raw_mean", mean), ("zero", 0.0)):
        kept = [[0.0 if abs(v - centre) > 3 or abs(v) > 10 else v for v in row] for row in rows]
        add({"kind": "stable_reinforce", "middle": middle}, far, regrouped(kept, far))

    groups, rng = step_groups()
    for group in groups:
        for e in group:
            for step in e["steps"]:
                step["wrong"] = rng.choice([0.0, 0.0, 1.0, 0.5])
    values = []
    for group in groups:
        tokens = [on_tokens(e, [2 * e["reward"] - s["wrong"] for s in e["steps"]], 2 * e["reward"]) for e in group]
        values.append(cut(standardised(tensor(sum(tokens, []))), tokens))
    add({"kind": "capo"}, groups, values)

    groups, rng = step_groups()
    for group in groups:
        for e in group:
            for step in e["steps"]:
                step["label"] = rng.choice(["right", "wrong"] if e["reward"] else ["matching", "mismatched"])
    values = []
    for group in groups:
        rewards = tensor([e["reward"] for e in group])
        cost = 0.3 * rewards.mean().item()
        rows = []
        for e, outcome in zip(group, standardised(rewards).tolist()):
            effect = {"right": outcome, "wrong": outcome - cost, "matching": outcome, "mismatched": 0.0}
            rows.append(on_tokens(e, [effect[s["label"]] for s in e["steps"]], outcome))
        values.append(rows)
    add({"kind": "tp_grpo", "alpha": 0.3}, groups, values)

    groups, rng = step_groups()
    for group in groups:
        for e in group:
            for step in e["steps"]:
                step["reward"] = rng.random()

    def step_values(of, gamma):
        out = []
        for group in groups:
            rows = [returns(of(e), gamma) for e in group]
            relative = cut(standardised(tensor(sum(rows, []))), rows)
            out.append([towards(e, row) for e, row in zip(group, relative)])
        return out

    def every(e):
        return [s["reward"] + e["reward"] - 1 for s in e["steps"]]

    def last(e):
        own = [s["reward"] - 0.5 for s in e["steps"]]
        return own[:-1] + [own[-1] + e["reward"] - 0.5]

    add({"kind": "ppr"}, groups, step_values(every, 1.0))
    add({"kind": "ppr", "outcome": "last_step", "gamma": 0.9}, groups, step_values(last, 0.9))
    add({"kind": "step_returns", "gamma": 0.95}, groups, step_values(lambda e: [s["reward"] for s in e["steps"]], 0.95))
    values = []
    for group in groups:
        outcomes = standardised(tensor([e["reward"] for e in group])).tolist()
        rows = [[s["reward"] for s in e["steps"]] for e in group]
        own = cut(standardised(tensor(sum(rows, []))), rows)
        values.append([on_tokens(e, [a + 0.7 * s for s in steps], a) for e, a, steps in zip(group, outcomes, own)])
    add({"kind": "istar", "alpha": 0.7}, groups, values)
    return cases


def main():
    goldens = {
        "objectives": objectives(),
        "m2po": m2po(),
        "pairs": pairs(),
        "rankings": rankings(),
        "direct": direct(),
        "process": process(),
        "progress": progress(),
        "token_reward": token_reward(),
        "advantages": advantages(),
    }
    lines = []
    for name, part in goldens.items():
        if isinstance(part, list):
            rows = ",\n".join("  " + json.dumps(case) for case in part)
            lines.append(f" {json.dumps(name)}: [\n{rows}\n ]")
        else:
            lines.append(f" {json.dumps(name)}: {json.dumps(part)}")
    (HERE / "losses.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


main()
