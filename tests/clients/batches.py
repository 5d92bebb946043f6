"""Drives files and batches by OpenAI's own client, unchanged.

`cargo xtask test --clients -- batches` makes an environment with the packages of
`tests/clients/requirements/openai.txt` and runs it. By hand, in such an environment:

    python tests/clients/batches.py --url http://127.0.0.1:8080 --model judge

The server must have a folder for them (`--set batches.folder=DIR`). Every reply is held to the client's
own types, with every field that they require.
"""

import argparse
import asyncio
import io
import json
import time

import openai
from openai.types import Batch, FileDeleted, FileObject

OVER = {"failed", "completed", "expired", "cancelled"}


def checked(kind, reply):
    """A reply that is all that the client's type says, validated and not merely put together."""
    kind.model_validate(reply.model_dump(by_alias=True))
    return reply


def line(custom_id, url, body, method="POST"):
    return json.dumps({"custom_id": custom_id, "method": method, "url": url, "body": body})


def upload(client, lines, **options):
    data = "\n".join(lines).encode()
    file = checked(FileObject, client.files.create(file=("requests.jsonl", data), purpose="batch", **options))
    assert file.bytes == len(data) and file.filename == "requests.jsonl" and file.status == "processed", file
    return file


def begin(client, lines, endpoint, **options):
    file = upload(client, lines)
    batch = client.batches.create(
        input_file_id=file.id, endpoint=endpoint, completion_window="24h", **options
    )
    assert batch.status == "validating" and batch.input_file_id == file.id, batch
    return checked(Batch, batch)


def finished(client, batch, patience=120):
    end = time.monotonic() + patience
    while True:
        batch = checked(Batch, client.batches.retrieve(batch.id))
        if batch.status in OVER:
            return batch
        assert time.monotonic() < end, batch
        time.sleep(0.05)


def lines_of(client, file_id):
    return [json.loads(text) for text in client.files.content(file_id).text.splitlines()] if file_id else []


def sums(count):
    ask = lambda n: {"model": "math", "inputs": [{"response": str(n), "reference": "2"}]}
    return [line(f"q{n}", "/v1/score", ask(n)) for n in range(count)]


def check_files(client):
    before = len(client.files.list().data)
    life = {"anchor": "created_at", "seconds": 3600}
    file = upload(client, sums(3), expires_after=life)
    assert file.expires_at == file.created_at + 3600, file
    assert checked(FileObject, client.files.retrieve(file.id)) == file
    assert client.files.content(file.id).read() == "\n".join(sums(3)).encode()
    others = [upload(client, sums(1)) for _ in range(4)]
    # The client turns the pages by itself.
    listed = [one.id for one in client.files.list(limit=2, order="asc", purpose="batch")]
    assert listed[-5:] == [file.id] + [one.id for one in others], listed
    for one in [file, *others]:
        gone = checked(FileDeleted, client.files.delete(one.id))
        assert gone.deleted and gone.id == one.id, gone
    assert len(client.files.list().data) == before
    for call in (client.files.retrieve, client.files.content, client.files.delete):
        try:
            call(file.id)
            raise AssertionError("a file that is gone was found")
        except openai.NotFoundError as error:
            assert error.code == "not_found" and error.type == "invalid_request_error", error.body
    try:
        client.files.create(file=io.BytesIO(b"{}"), purpose="assistants")
        raise AssertionError("a purpose without a use was taken")
    except openai.UnprocessableEntityError as error:
        assert error.param == "purpose", error.body


def check_scores(client):
    bad = line("bad", "/v1/score", {"model": "nobody", "inputs": []})
    options = {"anchor": "created_at", "seconds": 7200}
    batch = begin(client, sums(20) + [bad], "/v1/score", metadata={"run": "7"}, output_expires_after=options)
    assert batch.metadata == {"run": "7"}, batch
    done = finished(client, batch)
    assert done.status == "completed" and done.completed_at, done
    counts = done.request_counts
    assert (counts.total, counts.completed, counts.failed) == (21, 20, 1), counts
    output = lines_of(client, done.output_file_id)
    assert [one["custom_id"] for one in output] == [f"q{n}" for n in range(20)], output
    scores = [one["response"]["body"]["results"][0]["score"] for one in output]
    assert scores == [float(n == 2) for n in range(20)], scores
    (error,) = lines_of(client, done.error_file_id)
    assert error["custom_id"] == "bad" and error["response"]["status_code"] == 422, error
    file = checked(FileObject, client.files.retrieve(done.output_file_id))
    assert file.purpose == "batch_output" and file.expires_at == file.created_at + 7200, file
    assert any(one.id == batch.id for one in client.batches.list(limit=1)), "the pages have it"


def check_chats(client, model):
    ask = {"model": model, "messages": [{"role": "user", "content": "Two and two?"}], "max_tokens": 5, "seed": 3}
    url = "/v1/chat/completions"
    done = finished(client, begin(client, [line(str(n), url, ask) for n in range(4)], url))
    assert done.status == "completed", done
    direct = client.chat.completions.create(**ask)
    for one in lines_of(client, done.output_file_id):
        reply = openai.types.chat.ChatCompletion.model_validate(one["response"]["body"])
        assert reply.choices[0].message.content == direct.choices[0].message.content, reply


def check_failures(client):
    failed = finished(client, begin(client, sums(1) + ["{", sums(1)[0]], "/v1/score"))
    assert failed.status == "failed" and failed.failed_at, failed
    found = [(one.line, one.code) for one in failed.errors.data]
    assert found == [(2, "invalid_json_line"), (3, "duplicate_custom_id")], found
    try:
        client.batches.cancel(failed.id)
        raise AssertionError("what is over was cancelled")
    except openai.ConflictError as error:
        assert error.code == "conflict", error.body
    batch = begin(client, sums(3000), "/v1/score")
    cancelling = checked(Batch, client.batches.cancel(batch.id))
    assert cancelling.status == "cancelling" and cancelling.cancelling_at, cancelling
    done = finished(client, batch)
    assert done.status == "cancelled" and done.cancelled_at, done
    for call in (client.batches.retrieve, client.batches.cancel):
        try:
            call("batch_0123456789abcdef0123456789abcdef")
            raise AssertionError("a batch that is not there was found")
        except openai.NotFoundError as error:
            assert error.code == "not_found", error.body


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="where the server listens, without a path")
    parser.add_argument("--model", required=True, help="a model or an adapter")
    parser.add_argument("--api-key", default="none", help="the server's key, if it has keys")
    args = parser.parse_args()
    settings = {"base_url": f"{args.url}/v1", "api_key": args.api_key, "max_retries": 0}
    client = openai.OpenAI(**settings)
    check_files(client)
    check_scores(client)
    check_chats(client, args.model)
    check_failures(client)

    async def later():
        async with openai.AsyncOpenAI(**settings) as client:
            file = await client.files.create(file=("a.jsonl", sums(2)[0].encode()), purpose="batch")
            batch = await client.batches.create(
                input_file_id=file.id, endpoint="/v1/score", completion_window="24h"
            )
            while (batch := await client.batches.retrieve(batch.id)).status not in OVER:
                await asyncio.sleep(0.05)
            return batch

    assert asyncio.run(later()).status == "completed"
    print("ok")


if __name__ == "__main__":
    main()
