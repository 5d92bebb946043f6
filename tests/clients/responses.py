"""Drives `POST /v1/responses` by OpenAI's own client, unchanged.

`cargo xtask test --clients -- responses` makes an environment with the packages of
`tests/clients/requirements/openai.txt` and runs it. By hand, in such an environment:

    python tests/clients/responses.py --url http://127.0.0.1:8080 --model judge
"""

import argparse
import asyncio
import json
from typing import Literal

import openai
import pydantic

QUESTION = "What is in the sea?"


class Grade(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")

    fits: bool
    grade: Literal["low", "high"]


TOOL = openai.pydantic_function_tool(Grade, name="set_grade", description="Notes a grade.")
TOOL = {"type": "function", **TOOL["function"]}


def plain(client, model):
    body = {"model": model, "input": QUESTION, "max_output_tokens": 12, "store": False}
    reply = client.responses.create(**body, instructions="Be brief.", metadata={"run": "7"})
    assert reply.object == "response" and reply.model == model and reply.error is None
    assert reply.status in ("completed", "incomplete"), reply.status
    assert (reply.status == "incomplete") == (reply.incomplete_details is not None)
    assert reply.metadata == {"run": "7"} and reply.instructions == "Be brief."
    assert reply.output_text == reply.output[0].content[0].text
    usage = reply.usage
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    assert usage.input_tokens_details.cached_tokens >= 0
    assert usage.output_tokens_details.reasoning_tokens == 0
    # The types of the client, strictly.
    type(reply).model_validate(reply.model_dump(by_alias=True))
    turns = [{"role": "user", "content": QUESTION}, *reply.output, {"role": "user", "content": "And more?"}]
    again = [client.responses.create(**{**body, "input": turns}).output_text for _ in range(2)]
    assert again[0] == again[1], again
    cut = client.responses.create(**{**body, "max_output_tokens": 1})
    assert cut.status == "incomplete" and cut.incomplete_details.reason == "max_output_tokens"


def streaming(client, model):
    body = {"model": model, "input": QUESTION, "max_output_tokens": 20, "temperature": 1.2}
    whole = client.responses.create(**body)
    events = list(client.responses.create(**body, stream=True))
    names = [event.type for event in events]
    assert names[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ], names
    deltas = [event for event in events if event.type == "response.output_text.delta"]
    assert names[4 + len(deltas) :] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        f"response.{whole.status}",
    ], names
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert "".join(event.delta for event in deltas) == whole.output_text
    assert events[-1].response.output_text == whole.output_text
    assert events[-1].response.usage.output_tokens == whole.usage.output_tokens
    for event in events:
        type(event).model_validate(event.model_dump(by_alias=True))


def structured(client, model):
    reply = client.responses.parse(model=model, input=QUESTION, text_format=Grade)
    assert isinstance(reply.output_parsed, Grade), reply
    # Constrained JSON is compact.
    assert json.dumps(json.loads(reply.output_text), separators=(",", ":")) == reply.output_text
    with client.responses.stream(model=model, input=QUESTION, text_format=Grade) as stream:
        for _ in stream:
            pass
        assert stream.get_final_response().output_parsed == reply.output_parsed
    text = {"format": {"type": "json_object"}}
    reply = client.responses.create(model=model, input=QUESTION, text=text, max_output_tokens=400)
    assert reply.status == "incomplete" or isinstance(json.loads(reply.output_text), dict)


def tools(client, model):
    body = {"model": model, "input": QUESTION, "tools": [TOOL], "max_output_tokens": 1500}
    for choice in ("required", {"type": "function", "name": "set_grade"}):
        reply = client.responses.create(**body, tool_choice=choice)
        (call,) = reply.output
        assert call.type == "function_call" and call.name == "set_grade" and call.call_id
        Grade.model_validate_json(call.arguments)
        with client.responses.stream(**body, tool_choice=choice) as stream:
            names = [event.type for event in stream]
            (streamed,) = stream.get_final_response().output
        assert "response.function_call_arguments.done" in names, names
        assert streamed.arguments == call.arguments


def errors(client, model):
    body = {"model": model, "input": QUESTION}
    for more, status, param in [
        ({"model": "nobody"}, 404, "model"),
        ({"input": []}, 422, "input"),
        ({"max_output_tokens": 0}, 422, "max_output_tokens"),
        ({"store": True}, 422, "store"),
        ({"previous_response_id": "resp_1"}, 422, "previous_response_id"),
        ({"tools": [{"type": "web_search"}]}, 422, "tools[0].type"),
    ]:
        try:
            client.responses.create(**{**body, **more})
        except openai.APIStatusError as error:
            assert (error.status_code, error.param) == (status, param), error
            assert error.body["message"], error
        else:
            raise AssertionError(f"{more} was taken")


async def together(url, model):
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def ask(at):
            reply = await client.responses.create(
                model=model, input=f"{QUESTION} {at % 4}", max_output_tokens=10
            )
            return reply.output_text

        first = await asyncio.gather(*(ask(at) for at in range(16)))
    assert first[:4] * 4 == first, first


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True)
    given = parser.parse_args()
    url = f"{given.url.rstrip('/')}/v1"
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        for check in (plain, streaming, structured, tools, errors):
            check(client, given.model)
    asyncio.run(together(url, given.model))
    print("ok")


if __name__ == "__main__":
    main()
