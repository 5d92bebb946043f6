"""The official `openai` client for Python against a running server.

`cargo xtask test --clients -- decisions` makes an environment with the packages of
`tests/clients/requirements/openai.txt` and runs it. By hand, in such an environment:

    python tests/clients/decisions.py --url http://127.0.0.1:8080 --model NAME

`cargo test -p tests --test clients` runs it against a server of its own, where `tests/clients/.venv`
is there. The script prints `ok` and ends with 0, or fails at the first thing that is not as it should be.
"""

import argparse
import asyncio
import math

import openai
from openai.types.decision import Decision

INPUT = [
    {"role": "user", "content": "My card was charged twice."},
    {"role": "assistant", "content": [{"type": "output_text", "text": "I am sorry."}]},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "I want it back."},
            {"type": "input_json", "data": {"order": 7, "paid": [20, 20]}},
        ],
    },
]
QUESTIONS = [
    {"type": "predicate", "name": "refund", "instructions": "A refund is asked for."},
    {
        "type": "choice",
        "name": "team",
        "instructions": "Who should answer?",
        "choices": [
            {"value": "billing", "description": "Charges and invoices."},
            {"value": "technical"},
            {"value": True, "description": "Anybody."},
        ],
    },
    {
        "type": "score",
        "instructions": "How angry is the customer?",
        "levels": [{"label": "calm"}, {"label": "cross"}, {"label": "furious"}],
    },
]


def check(decision: Decision, model: str) -> None:
    assert decision.model == model, decision.model
    refund, team, anger = decision.answers
    assert refund.type == "predicate" and refund.name == "refund", refund
    assert 0.0 < refund.probability < 1.0, refund

    assert team.type == "choice" and team.name == "team", team
    assert [entry.value for entry in team.probabilities] == ["billing", "technical", True], team
    assert math.isclose(sum(entry.probability for entry in team.probabilities), 1.0, abs_tol=1e-7)
    best = max(team.probabilities, key=lambda entry: entry.probability)
    assert team.choice == best.value and type(team.choice) is type(best.value), team
    assert 0.0 <= team.confidence <= 1.0, team

    assert anger.type == "score" and anger.name is None, anger
    assert [entry.value for entry in anger.probabilities] == [0, 1, 2], anger
    assert [entry.label for entry in anger.probabilities] == ["calm", "cross", "furious"], anger
    expected = sum(entry.value * entry.probability for entry in anger.probabilities)
    assert math.isclose(anger.score, expected, abs_tol=1e-9), anger

    usage = decision.usage
    assert usage.input_tokens > 0 and usage.output_tokens == 0, usage
    assert usage.total_tokens == usage.input_tokens, usage
    assert usage.output_tokens_details.reasoning_tokens == 0, usage
    assert usage.input_tokens_details.cached_tokens >= 0, usage

    # What the client does not know it keeps.
    assert decision.tribunal["digests"]["model"].startswith("sha256:"), decision.tribunal
    assert 0.0 < refund.tribunal["label_mass"] <= 1.0, refund.tribunal


def check_errors(client: openai.OpenAI, model: str) -> None:
    try:
        client.decisions.create(model="no such model", input="x", questions=QUESTIONS)
        raise AssertionError("a model that is not there answered")
    except openai.NotFoundError as error:
        assert error.code == "model_not_found" and error.param == "model", error.body
    try:
        client.decisions.create(model=model, input="x", questions=[])
        raise AssertionError("a request without questions was answered")
    except openai.UnprocessableEntityError as error:
        assert error.param == "questions", error.body


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="where the server listens, without a path")
    parser.add_argument("--model", required=True, help="a model or an adapter")
    parser.add_argument("--api-key", default="none", help="the server's key, if it has keys")
    args = parser.parse_args()
    settings = {"base_url": f"{args.url}/v1", "api_key": args.api_key, "max_retries": 0}
    asked = {
        "model": args.model,
        "input": INPUT,
        "questions": QUESTIONS,
        "prompt_cache_key": "clients",
        "safety_identifier": "nobody",
    }

    client = openai.OpenAI(**settings)
    decision = client.decisions.create(**asked)
    check(decision, args.model)
    raw = client.decisions.with_raw_response.create(**asked)
    assert raw.headers["x-request-id"], raw.headers
    assert raw.parse().answers == decision.answers, "the same request has another answer"
    check_errors(client, args.model)

    async def later() -> Decision:
        async with openai.AsyncOpenAI(**settings) as client:
            return await client.decisions.create(**asked)

    assert asyncio.run(later()).answers == decision.answers, "async has another answer"
    print("ok")


if __name__ == "__main__":
    main()
