"""Rewards for TRL's trainers, such as `GRPOTrainer(reward_funcs=[TribunalReward("math")])`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from . import shared
from .errors import MalformedReply, Overloaded, ServerFailed, Unreachable
from .http import DEFAULT_URL, Given, Settings
from .inputs import Content, Options
from .verdict import Verdict

if TYPE_CHECKING:
    from typing_extensions import Unpack

GOLD_COLUMNS = ("answer", "solution", "ground_truth", "reference", "gold", "label")
"""Columns that are taken for the gold answer where none is named, the first that is there."""

TextOrMessages = str | Sequence[Mapping[str, Any]]


class TribunalReward:
    """A reward function of TRL: the scores of a scorer, None where there is none.

    It can be pickled; the connections are made where it is called. `statuses` counts what became of
    the completions that this process has asked about.

    Args:
        scorer: who judges, by name.
        url: where the server listens.
        gold: column of the dataset with the gold answer. Without it the first of `GOLD_COLUMNS`
            that is there, and without any nothing is sent: reward models need none.
        with_prompt: whether the prompt is sent.
        name: what the trainer calls it in its logs.
        options: how the server runs the requests; see `Options`.
        if_lost: what to do where the server cannot be had after all tries: raise the error, or give
            None for each completion.
        settings: see `Settings`.
    """

    def __init__(
        self,
        scorer: str,
        url: str = DEFAULT_URL,
        *,
        gold: str | None = None,
        with_prompt: bool = True,
        name: str | None = None,
        options: Options | None = None,
        if_lost: Literal["raise", "none"] = "raise",
        **settings: Unpack[Given],
    ) -> None:
        self.scorer = scorer
        self.gold = gold
        self.with_prompt = with_prompt
        self.options = options
        self.if_lost = if_lost
        self.settings = Settings(url=url, **settings)
        self.statuses: Counter[str] = Counter()
        # The trainer names its metrics by this.
        self.__name__ = name or "tribunal_" + re.sub(r"\W+", "_", scorer)

    def __call__(
        self,
        prompts: Sequence[TextOrMessages],
        completions: Sequence[TextOrMessages],
        **columns: Any,
    ) -> list[float | None]:
        """The reward of each completion.

        Raises:
            TribunalError: the server refuses the request, or cannot be had.
            ValueError: there is no such column, or it has another length.
        """
        verdicts = self.verdicts(prompts, completions, **columns)
        return [None if verdict is None else verdict.score for verdict in verdicts]

    def verdicts(
        self,
        prompts: Sequence[TextOrMessages],
        completions: Sequence[TextOrMessages],
        **columns: Any,
    ) -> list[Verdict] | list[None]:
        """What the rewards are taken from; None for all where the server is lost."""
        rows = self._rows(prompts, completions, columns)
        client = shared.client(self.settings)
        try:
            verdicts = client.score_many(self.scorer, rows, options=self.options)
        except (Overloaded, Unreachable, ServerFailed, MalformedReply) as error:
            if self.if_lost == "raise":
                raise
            self.statuses[type(error).__name__] += len(rows)
            return [None] * len(rows)
        self.statuses.update(verdict.status for verdict in verdicts)
        return verdicts

    def _rows(
        self,
        prompts: Sequence[TextOrMessages],
        completions: Sequence[TextOrMessages],
        columns: Mapping[str, Any],
    ) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = [{"response": _content(one)} for one in completions]
        if self.with_prompt:
            for row, prompt in zip(rows, prompts, strict=True):
                row["prompt"] = _content(prompt)
        for row, gold in zip(rows, self._gold(columns, len(rows)), strict=True):
            row["reference"] = gold
        return rows

    def _gold(self, columns: Mapping[str, Any], n_rows: int) -> Sequence[Any]:
        there = [name for name in GOLD_COLUMNS if name in columns]
        name = self.gold or (there[0] if there else None)
        if name is None:
            return [None] * n_rows
        if name not in columns:
            raise ValueError(f"the dataset has no column {name!r}; it has {sorted(columns)}")
        values: Sequence[Any] = columns[name]
        if len(values) != n_rows:
            raise ValueError(f"column {name!r}: {len(values)} values for {n_rows} completions")
        return values


def _content(given: TextOrMessages) -> Content:
    """A text, or messages with what a scorer reads of them: role and text."""
    if isinstance(given, str):
        return given
    return [{"role": str(one.get("role")), "content": _text(one.get("content"))} for one in given]


def _text(content: Any) -> str:
    """The text of a message, which may be in parts; a message that only calls a tool has none.

    Raises:
        ValueError: a part is no text. A reward for what was not seen would be about something else.
    """
    if content is None or isinstance(content, str):
        return content or ""
    texts = []
    for part in content:
        if part.get("type") != "text":
            raise ValueError(f"a message has a part of type {part.get('type')!r}; texts are judged")
        texts.append(str(part["text"]))
    return "\n".join(texts)
