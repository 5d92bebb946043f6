"""Drives the server by the reward clients of trainers, as their packages have them.

`cargo xtask test --clients -- trainers` makes an environment with the packages of
`tests/clients/requirements/trainers.txt` and `trainers.alone.txt`, and runs it. By hand, in such an environment:

    python tests/clients/trainers.py --url http://127.0.0.1:8080 --model rm

Of each package the functions that ask for rewards are lifted out of its source and run unchanged;
what they would import beside HTTP is not there. A server with `limits.client_requests` shows that
they wait and try again.
"""

import __future__

import argparse
import ast
import asyncio
import importlib.util
import itertools
import logging
import pathlib
import types

try:
    import aiohttp
    from aiohttp import web
except ImportError as missing:
    print(f"skipped: {missing}; the head of this file says how to install it")
    raise SystemExit(0) from None

PACKAGES = ("verl", "openrlhf")
absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
if absent:
    print(f"skipped: {' and '.join(absent)} not installed; the head of this file says how to")
    raise SystemExit(0)

RENDERED = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n{}<|im_end|>\n"


def lifted(package, file, name, functions):
    """A class of a package with some of its functions, nothing else of it being imported."""
    folder = pathlib.Path(importlib.util.find_spec(package).submodule_search_locations[0])
    module = ast.parse((folder / file).read_text())
    found = next(node for node in module.body if isinstance(node, ast.ClassDef) and node.name == name)
    found.bases, found.decorator_list = [], []
    defs = (ast.FunctionDef, ast.AsyncFunctionDef)
    found.body = [node for node in found.body if isinstance(node, defs) and node.name in functions]
    assert len(found.body) == len(functions), [node.name for node in found.body]
    module.body = [found]
    names = {"aiohttp": aiohttp, "asyncio": asyncio, "logger": logging.getLogger(package)}
    flags = __future__.annotations.compiler_flag
    exec(compile(module, str(folder / file), "exec", flags=flags), names)
    return names[name]


def verl_worker(address, model, engine, text):
    functions = ["_post_request", "compute_score_disrm"]
    worker = lifted("verl", "experimental/reward_loop/reward_loop.py", "RewardLoopWorker", functions)()
    rollout = types.SimpleNamespace(name=engine)
    reward_model = types.SimpleNamespace(rollout=rollout, model_path=model)
    worker.config = types.SimpleNamespace(reward=types.SimpleNamespace(reward_model=reward_model))
    worker.reward_router_address = address

    async def prompt(data):
        return text

    # Of verl's own it needs a tokenizer, which renders what is written out here.
    worker._preprocess_reward_inputs = prompt
    return worker


def openrlhf_executor(urls):
    functions = ["_fetch_rewards_via_http"]
    executor = lifted("openrlhf", "utils/agent.py", "SingleTurnAgentExecutor", functions)()
    executor.reward_endpoints = urls
    executor._reward_endpoint_cycle = itertools.cycle(urls)
    return executor


async def ask(url, body):
    async with aiohttp.ClientSession() as session:
        while True:
            async with session.post(url, json=body) as reply:
                if reply.status in (429, 503):
                    await asyncio.sleep(int(reply.headers["retry-after-ms"]) / 1000)
                    continue
                assert reply.status == 200, await reply.text()
                return await reply.json()


async def native(url, model, question, answer):
    inputs = [{"prompt": question, "response": answer}]
    reply = await ask(f"{url}/v1/score", {"model": model, "inputs": inputs})
    return reply["results"][0]["raw"]


async def verl(url, address, model):
    answers = [f"It is {n}." for n in range(6)]
    logits = [await native(url, model, "How much?", answer) for answer in answers]
    for engine in ("vllm", "sglang"):
        workers = [
            verl_worker(address, model, engine, RENDERED.format("How much?", answer))
            for answer in answers
        ]
        # More at once than the server takes of one client in a second.
        scores = await asyncio.gather(*(worker.compute_score_disrm(None) for worker in workers))
        for score, logit in zip(scores, logits, strict=True):
            assert abs(score["reward_score"] - logit) < 1e-5, (engine, score, logit)
        lost = verl_worker(address, "no/such/model", engine, "x")
        try:
            await lost.compute_score_disrm(None)
            raise AssertionError("a model that is not there gave a reward")
        except aiohttp.ClientResponseError as error:
            assert error.status == 404, error


async def openrlhf(url, model):
    answers = [f"It is {n}." for n in range(6)]
    logits = [await native(url, model, "How much?", answer) for answer in answers]
    queries = [RENDERED.format("How much?", answer) for answer in answers]
    prompts = ["<|im_start|>user\nHow much?<|im_end|>\n<|im_start|>assistant\n"] * len(queries)
    labels = ["4"] * len(queries)
    executor = openrlhf_executor([f"{url}/get_reward?model={model}"])
    samples = zip(queries, prompts, labels, strict=True)
    replies = await asyncio.gather(
        *(executor._fetch_rewards_via_http([q], [p], [label]) for q, p, label in samples)
    )
    for (reply,), logit in zip(replies, logits, strict=True):
        assert abs(reply["rewards"][0] - logit) < 1e-5, (reply, logit)
        assert 0.0 <= reply["scores"][0] <= 1.0 and "score" in reply["extra_logs"], reply
    both = [f"{url}/get_reward?model={model}"] * 2
    shards = await openrlhf_executor(both)._fetch_rewards_via_http(queries, prompts, labels)
    assert [len(shard["rewards"]) for shard in shards] == [3, 3], shards
    judged = openrlhf_executor([f"{url}/get_reward?model=math"])
    query = [RENDERED.format("What is 2 + 2?", "\\boxed{4}")]
    prompt = ["<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n<|im_start|>assistant\n"]
    (reply,) = await judged._fetch_rewards_via_http(query, prompt, ["4"])
    assert reply["rewards"] == [1.0], reply
    # It asks nobody for nothing; a server that is asked all the same says so in its shape.
    assert await judged._fetch_rewards_via_http([], [], []) == []
    empty = {"query": [], "prompts": [], "labels": []}
    reply = await ask(f"{url}/get_reward?model={model}", empty)
    assert reply["rewards"] == [] and reply["scores"] == [], reply
    lost = openrlhf_executor([f"{url}/get_reward?model=nobody"])
    try:
        await lost._fetch_rewards_via_http(query, prompt, ["4"])
        raise AssertionError("a scorer that is not there gave a reward")
    except RuntimeError:
        pass


async def slow(url, model):
    """A server that is late, and gone for one request, is waited for."""
    calls = itertools.count()

    async def late(request):
        if next(calls) == 0:
            raise web.HTTPServiceUnavailable
        await asyncio.sleep(2)
        body = await ask(f"{url}{request.path_qs}", await request.json())
        return web.json_response(body)

    app = web.Application()
    app.router.add_post("/{path:.*}", late)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address = "127.0.0.1:{}".format(runner.addresses[0][1])
    text = RENDERED.format("How much?", "Two.")
    score = await verl_worker(address, model, "vllm", text).compute_score_disrm(None)
    executor = openrlhf_executor([f"http://{address}/get_reward?model={model}"])
    (reply,) = await executor._fetch_rewards_via_http([text], [text.split("Two.")[0]], [""])
    assert abs(score["reward_score"] - reply["rewards"][0]) < 1e-5, (score, reply)
    await runner.cleanup()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="where the server listens, without a path")
    parser.add_argument("--model", required=True, help="a reward model")
    args = parser.parse_args()
    logging.disable()
    address = args.url.removeprefix("http://")

    async def all_of_them():
        await verl(args.url, address, args.model)
        await openrlhf(args.url, args.model)
        await slow(args.url, args.model)

    asyncio.run(all_of_them())
    print("ok")


if __name__ == "__main__":
    main()
