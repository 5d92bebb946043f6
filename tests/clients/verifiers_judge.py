r"""A task of the verifiers package, judged by `TribunalJudge` in its own scoring.

`cargo xtask test --clients -- verifiers` makes an environment with the packages of
`tests/clients/requirements/verifiers.txt` and runs it. By hand, in such an environment:

    python tests/clients/verifiers_judge.py \
        --url http://127.0.0.1:8080 --model rm

The model is a reward model. Judges are named in the task's configuration, found by their id and run
by `Task.score`; a rollout that cannot be measured is an error and has no reward.
"""

import argparse
import asyncio
import importlib.metadata
import os
import socket

try:
    import verifiers.v1 as vf
    from tribunal_client import Tribunal
    from verifiers.v1.trace import AgentInfo, Trace, TraceTask
except ImportError as error:
    print(f"skipped: {error}")
    raise SystemExit(0) from None


class Question(vf.TaskData):
    answer: str | list[str] | None = None


class Task(vf.Task[Question, vf.State, vf.TaskConfig]):
    """A question, without rewards of its own."""


def trace_of(task, reply):
    recorded = TraceTask(type="Task", data=task.data)
    agent = AgentInfo.model_construct(model="policy")
    return Trace.model_construct(task=recorded, agent=agent, root_reply=reply, rewards={}, info={})


def score(reply, answer, **judge):
    config = vf.TaskConfig(judges=[{"id": "tribunal-judge", **judge}])
    task = Task(Question(prompt="What is 2 + 2?", answer=answer), config)
    trace = trace_of(task, reply)
    error = None
    try:
        asyncio.run(task.score(trace))
    except vf.TaskError as raised:
        error = str(raised)
    return trace, error


def fails(said, *args, **judge):
    trace, error = score(*args, **judge)
    assert error is not None and said in error, error
    assert list(trace.rewards.values()) == [None], trace.rewards


def nobody():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{held.getsockname()[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="where the server listens, without a path")
    parser.add_argument("--model", required=True, help="a reward model")
    args = parser.parse_args()
    os.environ["TRIBUNAL_PATIENCE"] = "1"
    here = {"url": args.url}
    for reply, answer, expected in (
        ("\\boxed{4}", "4", 1.0),
        ("It is 5.", "4", 0.0),
        ("", "4", 0.0),
        ("4", ["5", "4"], 1.0),
    ):
        trace, error = score(reply, answer, weight=2.0, **here)
        assert error is None, error
        reward = trace.rewards["tribunal-judge"]
        assert (reward.score, reward.weight) == (expected, 2.0), (reply, reward)
        assert trace.info["tribunal"]["tribunal-judge"]["status"] == "ok", trace.info
    trace, error = score("4", None, name="rm", scorer=args.model, answer_field="", **here)
    assert error is None, error
    with Tribunal(args.url) as tribunal:
        says = tribunal.score(args.model, "4", prompt="What is 2 + 2?")
    assert trace.rewards["rm"].score == says.score, (trace.rewards, says)
    fails("bad_reference", "4", "", **here)
    fails("no field 'answer'", "4", None, **here)
    fails("model_not_found", "4", "4", scorer="nobody", **here)
    fails("Connect", "4", "4", url=nobody())
    print("verifiers", importlib.metadata.version("verifiers"))
    print("judge: right, wrong, empty, reward model; unmeasured, refused and gone are errors")
    print("ok")


if __name__ == "__main__":
    main()
