r"""verl and OpenRLHF with the reward files of the Python package, called by their own code.

`cargo xtask test --clients -- reward-files` makes an environment with the packages of
`tests/clients/requirements/trainers.txt` and `trainers.alone.txt`, and runs it. By hand, in such an environment:

    python tests/clients/reward_files.py \
        --url http://127.0.0.1:8080 --model rm

The model is a reward model. verl loads the function as its configuration says, and its own reward
manager calls it; OpenRLHF's own executor loads the file, and calls it after a rollout that is made
up. Each is shown a server that is well, full, slow, gone, and one that refuses.
"""

import argparse
import asyncio
import contextlib
import http.server
import importlib.metadata
import json
import logging
import os
import pathlib
import socket
import tempfile
import threading
import time
import types
import urllib.request

try:
    import numpy as np
    import torch
    from omegaconf import OmegaConf
    from openrlhf.utils.agent import SingleTurnAgentExecutor
    from tribunal_client import NotMeasured, RequestRefused, Unreachable
    from verl import DataProto
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
    from verl.trainer.ppo.reward import get_custom_reward_fn
except ImportError as error:
    print(f"skipped: {error}")
    raise SystemExit(0) from None


PROMPT = "<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n<|im_start|>assistant\n"
KEYS = ["score", "measured", "status", "label", "reason"]


@contextlib.contextmanager
def front(url, full=0, late=0.0):
    """Stands before the server: so many requests are refused, and the others are late."""
    left = [full]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if left[0] > 0:
                left[0] -= 1
                self.send_response(503)
                self.send_header("retry-after-ms", "20")
                self.end_headers()
                return
            time.sleep(late)
            headers = {"content-type": "application/json"}
            request = urllib.request.Request(url + self.path, body, headers)
            with urllib.request.urlopen(request) as reply:
                answer = reply.read()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", left
    server.shutdown()


def nobody():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{held.getsockname()[1]}"


def native(url, model, row):
    body = json.dumps({"model": model, "inputs": [row]}).encode()
    request = urllib.request.Request(f"{url}/v1/score", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["results"][0]


@contextlib.contextmanager
def raises(kind, say):
    try:
        yield
    except kind as error:
        assert say in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}")


class Letters:
    """A tokenizer of which every code point is a token."""

    def __call__(self, text, **_):
        return {"input_ids": torch.tensor([[ord(letter) for letter in text]])}

    def decode(self, ids, **_):
        return "".join(chr(letter) for letter in ids)


def verl_sample(response, gold):
    """A rollout as verl's reward workers get it."""
    ids = Letters()(response)["input_ids"]
    others = {"data_source": "gsm8k", "reward_model": {"ground_truth": gold}, "extra_info": {}}
    arrays = {}
    for name, value in others.items():
        arrays[name] = np.empty(1, dtype=object)
        arrays[name][0] = value
    tensors = {"responses": ids, "attention_mask": torch.ones_like(ids)}
    return DataProto.from_dict(tensors=tensors, non_tensors=arrays)


def verl_rewards(function, samples, **reward_kwargs):
    """What verl's naive reward manager makes of samples, by the function that a config names."""
    where = {"path": "pkg://tribunal_client.verl", "name": function}
    named = {"custom_reward_function": {**where, "reward_kwargs": reward_kwargs}}
    config = OmegaConf.create({"reward": named})

    async def run():
        manager = NaiveRewardManager(config, Letters(), get_custom_reward_fn(config))
        return await asyncio.gather(*(manager.run_single(verl_sample(*one)) for one in samples))

    return asyncio.run(run())


def verl(url, function):
    samples = [(f"\\boxed{{{at % 8}}}", "4") for at in range(40)]
    expected = [float(at % 8 == 4) for at in range(40)]

    def scores(samples=samples, scorer="math", **how):
        got = verl_rewards(function, samples, **{"scorer": scorer, "url": url, **how})
        assert all(list(one["reward_extra_info"]) == KEYS for one in got), got
        return [one["reward_score"] for one in got]

    assert scores() == expected
    assert scores(scorer={"gsm8k": "math"}) == expected
    with front(url, full=25) as (full, left):
        assert scores(url=full) == expected
        assert left == [0]
    with front(url, late=2.0) as (late, _):
        assert scores(samples[:4], url=late) == expected[:4]
    missing = [("4", "4"), ("4", "")]
    with raises(NotMeasured, "bad_reference"):
        scores(missing)
    assert scores(missing, failed_score=-1.0) == [1.0, -1.0]
    with raises(RequestRefused, "model_not_found"):
        scores(scorer="nobody", failed_score=0.0)
    with raises(Unreachable, "Connect"):
        scores(samples[:1], url=nobody())
    assert scores([]) == []
    print(f"verl {function}: normal, 503, slow, unmeasured, refused, gone, empty")


def openrlhf_executor(folder):
    """OpenRLHF's executor, which has loaded a reward file."""
    file = pathlib.Path(folder) / "reward.py"
    file.write_text("from tribunal_client.openrlhf import reward_func\n")
    return SingleTurnAgentExecutor(str(file))


def rollout(executor, response, label):
    """A rollout by OpenRLHF's own code, of an engine that always says the same."""

    async def generate(*_, **__):
        text = types.SimpleNamespace(
            token_ids=[ord(letter) for letter in response], finish_reason="stop", logprobs=None
        )
        return types.SimpleNamespace(outputs=[text])

    engine = types.SimpleNamespace(generate=generate)
    sampling = types.SimpleNamespace(max_tokens=100, logprobs=None)
    running = executor.execute(PROMPT, label, sampling, 1000, Letters(), engine)
    output = asyncio.run(running)
    # What its samples generator makes of it.
    reward = output["reward"]
    tensor = None if reward is None else torch.tensor([reward])
    assert tensor is None or tensor.shape == (1,), tensor
    return tensor, output["extra_logs"]


def openrlhf(url, model, executor):
    os.environ.update(TRIBUNAL_URL=url, TRIBUNAL_SCORER="math")
    asked = asyncio.run(executor._fetch_rewards_via_func([], [], []))
    assert asked == [], asked
    empty = executor.reward_func([], [], [])
    assert empty["rewards"].shape == (0,), empty

    def reward(response, label="4", at=url, scorer="math"):
        os.environ.update(TRIBUNAL_URL=at, TRIBUNAL_SCORER=scorer)
        tensor, logs = rollout(executor, response, label)
        assert tensor is None or logs["measured"].shape == (1,), logs
        return None if tensor is None else tensor.item()

    assert [reward("\\boxed{4}<|im_end|>"), reward("5")] == [1.0, 0.0]
    row = {"prompt": [{"role": "user", "content": "What is 2 + 2?"}], "response": "It is 4."}
    raw = native(url, model, row)["raw"]
    assert abs(reward("It is 4.<|im_end|>\n", scorer=model) - raw) < 1e-5, raw
    with front(url, full=6) as (full, left):
        assert reward("4", at=full) == 1.0
        assert left == [0]
    with front(url, late=2.0) as (late, _):
        assert reward("4", at=late) == 1.0
    # OpenRLHF logs the error, and leaves the sample without a reward.
    assert reward("4", label="") is None
    assert reward("4", scorer="nobody") is None
    assert reward("4", at=nobody()) is None
    os.environ["TRIBUNAL_FAILED_REWARD"] = "-1"
    assert reward("4", label="") == -1.0
    assert reward("4", scorer="nobody") is None
    print("openrlhf reward_func: normal, 503, slow, unmeasured, refused, gone, empty")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="where the server listens, without a path")
    parser.add_argument("--model", required=True, help="a reward model")
    args = parser.parse_args()
    logging.disable()
    os.environ["TRIBUNAL_PATIENCE"] = "3"
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("verl", "openrlhf")]
    print(", ".join(versions))
    for function in ("compute_score", "compute_score_sync"):
        verl(args.url, function)
    with tempfile.TemporaryDirectory() as folder:
        openrlhf(args.url, args.model, openrlhf_executor(folder))
    print("ok")


if __name__ == "__main__":
    main()
