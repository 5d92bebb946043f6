"""Drives chats and completions by OpenAI's own client, unchanged.

`cargo xtask test --clients -- chat` makes an environment with the packages of
`tests/clients/requirements/openai.txt` and runs it. By hand, in such an environment:

    python tests/clients/chat.py --url http://127.0.0.1:8080 --model judge
"""

import argparse
import asyncio
import json

import openai

QUESTION = [{"role": "user", "content": "What is in the sea?"}]
SCHEMA = {
    "type": "object",
    "properties": {"fits": {"type": "boolean"}, "grade": {"enum": ["low", "high"]}},
    "required": ["fits", "grade"],
    "additionalProperties": False,
}
TOOL = {
    "type": "function",
    "function": {"name": "set_grade", "description": "Notes a grade.", "parameters": SCHEMA},
}


def check_value(text):
    value = json.loads(text)
    assert isinstance(value["fits"], bool), value
    assert value["grade"] in ("low", "high"), value


def chat(client, model):
    reply = client.chat.completions.create(model=model, messages=QUESTION, max_tokens=12, n=3, seed=7)
    assert reply.object == "chat.completion"
    assert [choice.index for choice in reply.choices] == [0, 1, 2]
    assert all(choice.finish_reason in ("stop", "length") for choice in reply.choices)
    usage = reply.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert usage.prompt_tokens_details.cached_tokens >= 0
    assert reply.system_fingerprint.startswith("fp_")
    assert reply.model_extra["tribunal"]["digests"]["model"]
    again = client.chat.completions.create(model=model, messages=QUESTION, max_tokens=12, n=3, seed=7)
    texts = [[choice.message.content for choice in one.choices] for one in (reply, again)]
    assert texts[0] == texts[1], texts


def streaming(client, model):
    body = {"model": model, "messages": QUESTION, "max_tokens": 20, "temperature": 1.2}
    whole = client.chat.completions.create(**body).choices[0]
    text, reason, usage = "", None, None
    stream = client.chat.completions.create(**body, stream=True, stream_options={"include_usage": True})
    for chunk in stream:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
        usage = chunk.usage or usage
    assert (text, reason) == (whole.message.content, whole.finish_reason), (text, whole)
    assert usage.completion_tokens > 0


def structured(client, model):
    form = {"type": "json_schema", "json_schema": {"name": "grade", "schema": SCHEMA, "strict": True}}
    reply = client.chat.completions.create(
        model=model, messages=QUESTION, max_tokens=1500, response_format=form
    )
    check_value(reply.choices[0].message.content)
    reply = client.chat.completions.create(
        model=model, messages=QUESTION, max_tokens=50, extra_body={"guided_choice": ["yes", "no"]}
    )
    assert reply.choices[0].message.content in ("yes", "no")


def logprobs(client, model):
    reply = client.chat.completions.create(
        model=model, messages=QUESTION, max_tokens=6, logprobs=True, top_logprobs=3
    )
    table = reply.choices[0].logprobs.content
    assert len(table) == reply.usage.completion_tokens
    for token in table:
        assert token.logprob <= 0 and len(token.top_logprobs) == 3 and token.bytes, token


def tools(client, model):
    body = {"model": model, "messages": QUESTION, "max_tokens": 1500, "tools": [TOOL]}
    reply = client.chat.completions.create(**body, tool_choice="required")
    choice = reply.choices[0]
    assert choice.finish_reason == "tool_calls" and choice.message.content is None
    call = choice.message.tool_calls[0]
    assert call.type == "function" and call.function.name == "set_grade"
    check_value(call.function.arguments)
    named = {"type": "function", "function": {"name": "set_grade"}}
    with client.chat.completions.stream(**body, tool_choice=named) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_completion().choices[0]
    assert streamed.finish_reason == "tool_calls"
    check_value(streamed.message.tool_calls[0].function.arguments)


def completions(client, model):
    reply = client.completions.create(
        model=model, prompt=["It was in the sea", "1 + 1 ="], max_tokens=5, n=2, echo=True, logprobs=2
    )
    assert len(reply.choices) == 4
    for choice in reply.choices:
        lists = choice.logprobs
        assert choice.text.startswith("It was in the sea" if choice.index < 2 else "1 + 1 =")
        assert len(lists.tokens) == len(lists.token_logprobs) == len(lists.text_offset)
    whole = client.completions.create(model=model, prompt=[5, 6, 7], max_tokens=5)
    stream = client.completions.create(model=model, prompt=[5, 6, 7], max_tokens=5, stream=True)
    text = "".join(choice.text for chunk in stream for choice in chunk.choices)
    assert text == whole.choices[0].text


def errors(client, model):
    for body, status in [
        ({"model": "nobody", "messages": QUESTION}, 404),
        ({"model": model, "messages": []}, 422),
        ({"model": model, "messages": QUESTION, "n": 401}, 422),
        ({"model": model, "messages": QUESTION, "max_tokens": 0}, 422),
    ]:
        try:
            client.chat.completions.create(**body)
        except openai.APIStatusError as error:
            assert error.status_code == status, error
            assert error.body["message"], error
        else:
            raise AssertionError(f"{body} was taken")


async def together(url, model):
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        async def ask(seed):
            reply = await client.chat.completions.create(
                model=model, messages=QUESTION, max_tokens=10, seed=seed
            )
            return reply.choices[0].message.content

        first = await asyncio.gather(*(ask(seed % 4) for seed in range(16)))
    assert first[:4] * 4 == first, first


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", required=True)
    given = parser.parse_args()
    url = f"{given.url.rstrip('/')}/v1"
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        listed = {model.id for model in client.models.list()}
        assert given.model in listed, listed
        for check in (chat, streaming, structured, logprobs, tools, completions, errors):
            check(client, given.model)
    asyncio.run(together(url, given.model))
    print("ok")


if __name__ == "__main__":
    main()
