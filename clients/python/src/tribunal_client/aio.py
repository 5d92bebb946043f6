"""The client for programs of coroutines: the same methods, to be awaited."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from . import catalogue, http, inputs, openrlhf_wire
from .catalogue import Decision, Health, Served
from .client import BODY_TOO_LARGE, Progress
from .errors import Overloaded, RequestRefused, Unreachable
from .http import DEFAULT_URL, Settings
from .inputs import Batch, Content, Input, Options, Reference
from .openrlhf_wire import Rewards
from .retry import Attempts
from .signing import PublicKeys
from .verdict import Verdict

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

Ask = Callable[[Batch], Awaitable[list[Verdict]]]


class AsyncTribunal:
    """A server, asked over a pool of connections. It belongs to the event loop that first used it.

    What the fields mean is told at `Settings`, and what the methods do and raise at `Tribunal`.
    """

    def __init__(self, url: str = DEFAULT_URL, **settings: Unpack[http.Given]) -> None:
        self._set_up(Settings(url=url, **settings))

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """A client of settings that are made already."""
        made = cls.__new__(cls)
        made._set_up(settings)
        return made

    def _set_up(self, settings: Settings) -> None:
        self.settings = settings
        self._answered = False
        self._http = httpx.AsyncClient(**self.settings.of_httpx())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def answered(self) -> bool:
        """Whether the server has ever answered this client, whatever it said."""
        return self._answered

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def score(
        self,
        model: str,
        response: Content | None = None,
        reference: Reference | None = None,
        *,
        prompt: Content | None = None,
        options: Options | None = None,
        **more: Any,
    ) -> Verdict:
        """The verdict of a scorer on one input; `more` are other fields of `Input`."""
        one = {"prompt": prompt, "response": response, "reference": reference, **more}
        return (await self.score_many(model, [one], options=options))[0]

    async def score_many(
        self,
        model: str,
        rows: Iterable[Input | Mapping[str, Any]],
        *,
        options: Options | None = None,
        progress: Progress | None = None,
    ) -> list[Verdict]:
        """The verdicts on many inputs, in their order; none of an empty list."""
        coming = self.iter_many(model, rows, options=options, progress=progress)
        return [verdict async for verdict in coming]

    async def iter_many(
        self,
        model: str,
        rows: Iterable[Input | Mapping[str, Any]],
        *,
        options: Options | None = None,
        progress: Progress | None = None,
    ) -> AsyncGenerator[Verdict, None]:
        """The verdicts on many inputs, in their order, as they come."""
        plan = inputs.plan(rows, self.settings.batch_size, self.settings.batch_bytes)

        def ask(batch: Batch) -> Awaitable[list[Verdict]]:
            return self._ask(model, batch, options)

        done = 0
        async for batch, verdicts in self._asked(ask, plan.batches):
            ready = plan.joined(done, batch, verdicts)
            done += len(ready)
            if progress is not None:
                progress(done, plan.n_inputs)
            for verdict in ready:
                yield verdict
        for verdict in plan.rest(done):
            yield verdict

    async def decide(
        self,
        model: str,
        input: str | Sequence[Mapping[str, Any]],  # noqa: A002 - the server's word
        questions: Sequence[Mapping[str, Any]],
        **more: Any,
    ) -> Decision:
        """Answers of a model to typed questions about an input, as probabilities of labels."""
        body = http.json_body({"model": model, "input": input, "questions": questions, **more})
        return catalogue.decision(await self._send("POST", "/v1/decisions", body))

    async def rewards(
        self,
        queries: Sequence[str],
        prompts: Sequence[str] | None = None,
        labels: Sequence[Any] | None = None,
        *,
        model: str | None = None,
    ) -> Rewards:
        """Rewards of rendered texts, as OpenRLHF asks for them; none of an empty list."""
        asked = openrlhf_wire.request(queries, prompts, labels, model)
        with openrlhf_wire.unmeasured():
            body = await self._send("POST", *asked)
        return openrlhf_wire.rewards(body, len(queries))

    async def models(self) -> list[Served]:
        """Every scorer, model and adapter that can be asked."""
        return catalogue.models(await self._send("GET", "/v1/models"))

    async def scorers(self) -> list[Served]:
        """Those of them that give verdicts."""
        return catalogue.scorers(await self.models())

    async def public_keys(self) -> PublicKeys:
        """The keys that check signed verdicts; none where the server does not sign."""
        return catalogue.public_keys(await self._send("GET", "/v1/keys"))

    async def health(self) -> Health:
        """Whether the server takes work; asked once. One that drains says so, and is no error."""
        try:
            reply = await self._http.get("/readyz")
        except httpx.HTTPError as error:
            raise http.lost(error) from error
        if reply.status_code != http.UNAVAILABLE:
            http.body_of(reply.status_code, reply.headers, reply.content)
        return catalogue.health(reply.content)

    async def _asked(
        self, ask: Ask, batches: Sequence[Batch]
    ) -> AsyncIterator[tuple[Batch, list[Verdict]]]:
        """Asks for batches, some at once; answers come in the order of the batches."""
        free = asyncio.Semaphore(self.settings.concurrency)

        async def in_turn(batch: Batch) -> list[Verdict]:
            async with free:
                return await ask(batch)

        under_way: deque[tuple[Batch, asyncio.Task[list[Verdict]]]] = deque()
        try:
            for batch in batches:
                if len(under_way) == 2 * self.settings.concurrency:
                    first, answer = under_way.popleft()
                    yield first, await answer
                under_way.append((batch, asyncio.ensure_future(in_turn(batch))))
            while under_way:
                first, answer = under_way.popleft()
                yield first, await answer
        finally:
            for _, answer in under_way:
                answer.cancel()
            # Their ends are awaited, so that none fails later where nobody looks.
            await asyncio.gather(*(answer for _, answer in under_way), return_exceptions=True)

    async def _ask(self, model: str, batch: Batch, options: Options | None) -> list[Verdict]:
        body = inputs.request(model, batch, options)
        try:
            return inputs.answers(await self._send("POST", "/v1/score", body), batch)
        except RequestRefused as refusal:
            if refusal.status != BODY_TOO_LARGE:
                raise inputs.placed(refusal, batch) from None
            if len(batch) == 1:
                return [inputs.too_large(batch[0], refusal)]
        half = len(batch) // 2
        first = await self._ask(model, batch[:half], options)
        return first + await self._ask(model, batch[half:], options)

    async def _send(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """The body of a success, after as many tries as it takes and the settings allow."""
        attempts = Attempts(self.settings.retry, self.settings.url, lambda: self._answered)
        while True:
            try:
                return await self._once(method, path, body)
            except (Overloaded, Unreachable) as failure:
                wait = attempts.wait_after(failure)
            await asyncio.sleep(wait)

    async def _once(self, method: str, path: str, body: bytes | None) -> bytes:
        try:
            reply = await self._http.request(method, path, content=body)
        except httpx.HTTPError as error:
            raise http.lost(error) from error
        self._answered = True
        return http.body_of(reply.status_code, reply.headers, reply.content)
