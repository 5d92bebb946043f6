"""The client for programs that wait."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from . import catalogue, http, inputs, openrlhf_wire
from .catalogue import Decision, Health, Served
from .errors import Overloaded, RequestRefused, TribunalError, Unreachable
from .http import DEFAULT_URL, Settings
from .inputs import Batch, Content, Input, Options, Reference
from .openrlhf_wire import Rewards
from .retry import Attempts
from .signing import PublicKeys
from .verdict import Verdict

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

Progress = Callable[[int, int], None]
"""Told after each request: how many inputs are done, and of how many."""

BODY_TOO_LARGE = 413


class Tribunal:
    """A server, asked over a pool of connections. Threads may share one.

    What the fields mean is told at `Settings`. Processes must not share one: make it after a fork.
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
        self._http = httpx.Client(**self.settings.of_httpx())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def answered(self) -> bool:
        """Whether the server has ever answered this client, whatever it said."""
        return self._answered

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def score(
        self,
        model: str,
        response: Content | None = None,
        reference: Reference | None = None,
        *,
        prompt: Content | None = None,
        options: Options | None = None,
        **more: Any,
    ) -> Verdict:
        """The verdict of a scorer on one input; `more` are other fields of `Input`.

        Raises:
            TribunalError: there is no verdict, not even one that says why there is no number.
        """
        one = {"prompt": prompt, "response": response, "reference": reference, **more}
        return self.score_many(model, [one], options=options)[0]

    def score_many(
        self,
        model: str,
        rows: Iterable[Input | Mapping[str, Any]],
        *,
        options: Options | None = None,
        progress: Progress | None = None,
    ) -> list[Verdict]:
        """The verdicts on many inputs, in their order; none of an empty list.

        Raises:
            TribunalError: a request failed for good; verdicts of other requests are lost with it.
        """
        return list(self.iter_many(model, rows, options=options, progress=progress))

    def iter_many(
        self,
        model: str,
        rows: Iterable[Input | Mapping[str, Any]],
        *,
        options: Options | None = None,
        progress: Progress | None = None,
    ) -> Generator[Verdict, None, None]:
        """The verdicts on many inputs, in their order, as they come.

        Raises:
            TribunalError: as above; what was given out before it is good.
        """
        plan = inputs.plan(rows, self.settings.batch_size, self.settings.batch_bytes)
        halt = threading.Event()

        def ask(batch: Batch) -> list[Verdict]:
            return self._ask(model, batch, options, halt)

        done = 0
        for batch, verdicts in self._asked(ask, plan.batches, halt):
            ready = plan.joined(done, batch, verdicts)
            done += len(ready)
            if progress is not None:
                progress(done, plan.n_inputs)
            yield from ready
        yield from plan.rest(done)

    def decide(
        self,
        model: str,
        input: str | Sequence[Mapping[str, Any]],  # noqa: A002 - the server's word
        questions: Sequence[Mapping[str, Any]],
        **more: Any,
    ) -> Decision:
        """Answers of a model to typed questions about an input, as probabilities of labels."""
        body = http.json_body({"model": model, "input": input, "questions": questions, **more})
        return catalogue.decision(self._send("POST", "/v1/decisions", body))

    def rewards(
        self,
        queries: Sequence[str],
        prompts: Sequence[str] | None = None,
        labels: Sequence[Any] | None = None,
        *,
        model: str | None = None,
    ) -> Rewards:
        """Rewards of rendered texts, as OpenRLHF asks for them; none of an empty list.

        Raises:
            NotMeasured: one of them could not be measured; the message says which, and why.
        """
        asked = openrlhf_wire.request(queries, prompts, labels, model)
        with openrlhf_wire.unmeasured():
            body = self._send("POST", *asked)
        return openrlhf_wire.rewards(body, len(queries))

    def models(self) -> list[Served]:
        """Every scorer, model and adapter that can be asked."""
        return catalogue.models(self._send("GET", "/v1/models"))

    def scorers(self) -> list[Served]:
        """Those of them that give verdicts."""
        return catalogue.scorers(self.models())

    def public_keys(self) -> PublicKeys:
        """The keys that check signed verdicts; none where the server does not sign."""
        return catalogue.public_keys(self._send("GET", "/v1/keys"))

    def health(self) -> Health:
        """Whether the server takes work; asked once. One that drains says so, and is no error."""
        try:
            reply = self._http.get("/readyz")
        except httpx.HTTPError as error:
            raise http.lost(error) from error
        if reply.status_code != http.UNAVAILABLE:
            http.body_of(reply.status_code, reply.headers, reply.content)
        return catalogue.health(reply.content)

    def _asked(
        self,
        ask: Callable[[Batch], list[Verdict]],
        batches: Sequence[Batch],
        halt: threading.Event,
    ) -> Iterator[tuple[Batch, list[Verdict]]]:
        """Asks for batches, some at once; answers come in the order of the batches."""
        n_threads = min(self.settings.concurrency, len(batches))
        if n_threads <= 1:
            yield from ((batch, ask(batch)) for batch in batches)
            return
        under_way: deque[tuple[Batch, Future[list[Verdict]]]] = deque()
        with ThreadPoolExecutor(n_threads, thread_name_prefix="tribunal") as threads:
            try:
                for batch in batches:
                    # As many again wait for a thread, so that none idles while answers are used.
                    if len(under_way) == 2 * n_threads:
                        first, answer = under_way.popleft()
                        yield first, answer.result()
                    under_way.append((batch, threads.submit(ask, batch)))
                while under_way:
                    first, answer = under_way.popleft()
                    yield first, answer.result()
            finally:
                # After a failure, or where the caller wants no more: nobody waits to try again.
                halt.set()
                for _, answer in under_way:
                    answer.cancel()

    def _ask(
        self,
        model: str,
        batch: Batch,
        options: Options | None,
        halt: threading.Event | None = None,
    ) -> list[Verdict]:
        """The verdicts on one batch of a plan; `Pool` calls it too."""
        body = inputs.request(model, batch, options)
        try:
            return inputs.answers(self._send("POST", "/v1/score", body, halt=halt), batch)
        except RequestRefused as refusal:
            if refusal.status != BODY_TOO_LARGE:
                raise inputs.placed(refusal, batch) from None
            if len(batch) == 1:
                return [inputs.too_large(batch[0], refusal)]
        half = len(batch) // 2
        first = self._ask(model, batch[:half], options, halt)
        return first + self._ask(model, batch[half:], options, halt)

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        halt: threading.Event | None = None,
    ) -> bytes:
        """The body of a success, after as many tries as it takes and the settings allow."""
        attempts = Attempts(self.settings.retry, self.settings.url, lambda: self._answered)
        halt = halt or threading.Event()
        while True:
            try:
                return self._once(method, path, body)
            except (Overloaded, Unreachable) as failure:
                wait = attempts.wait_after(failure)
            if halt.wait(wait):
                raise TribunalError("given up, because another request of the same call failed")

    def _once(self, method: str, path: str, body: bytes | None) -> bytes:
        try:
            reply = self._http.request(method, path, content=body)
        except httpx.HTTPError as error:
            raise http.lost(error) from error
        self._answered = True
        return http.body_of(reply.status_code, reply.headers, reply.content)
