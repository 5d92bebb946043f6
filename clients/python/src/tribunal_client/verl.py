"""verl's custom reward function.

    reward.custom_reward_function.path=pkg://tribunal_client.verl
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.scorer=math
    +reward.custom_reward_function.reward_kwargs.url=http://127.0.0.1:8080

verl makes a tensor of the scores and has no word for what could not be measured. So that is an
error, unless the run says which number is to stand for it: `failed_score`. Such samples have
`measured` 0.0 and their status in the logs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from tribunal_client import environment, shared
from tribunal_client.errors import NotMeasured, TribunalError
from tribunal_client.verdict import Verdict


class Score(TypedDict):
    """What verl gets. It takes the first sample's keys for all, so they are always the same."""

    score: float
    measured: float
    """1.0, or 0.0 where `score` is the number that was to stand for a failed measurement."""
    status: str
    label: str
    reason: str


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    scorer: str | Mapping[str, str] | None = None,
    url: str | None = None,
    api_key: str | None = None,
    prompt_key: str | None = None,
    failed_score: float | None = None,
    **_: Any,
) -> Score:
    """The score of one sample.

    Args:
        data_source: the name of the sample's data set.
        solution_str: the response.
        ground_truth: the gold answer.
        extra_info: what else the data set has about the sample.
        scorer: who judges, or for each `data_source` who does; else `TRIBUNAL_SCORER`.
        url: where the server listens; else `TRIBUNAL_URL`, else `http://127.0.0.1:8080`.
        api_key: else `TRIBUNAL_API_KEY`.
        prompt_key: key of `extra_info` with what was asked, for scorers that read it.
        failed_score: the number for what cannot be measured, and for a server that cannot be had.
            Without it these are errors.

    Raises:
        NotMeasured: the verdict has no score, and there is no `failed_score`.
        TribunalError: there is no verdict, and no `failed_score`; or the request is refused.
    """
    client = shared.async_client(environment.settings(url, api_key))
    row = _row(solution_str, ground_truth, extra_info, prompt_key)
    try:
        verdict = (await client.score_many(_scorer(scorer, data_source), [row]))[0]
    except TribunalError as error:
        return _lost(error, failed_score)
    return _score(verdict, failed_score)


def compute_score_sync(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    scorer: str | Mapping[str, str] | None = None,
    url: str | None = None,
    api_key: str | None = None,
    prompt_key: str | None = None,
    failed_score: float | None = None,
    **_: Any,
) -> Score:
    """The same for versions of verl that do not await it."""
    client = shared.client(environment.settings(url, api_key))
    row = _row(solution_str, ground_truth, extra_info, prompt_key)
    try:
        verdict = client.score_many(_scorer(scorer, data_source), [row])[0]
    except TribunalError as error:
        return _lost(error, failed_score)
    return _score(verdict, failed_score)


def _row(
    response: str, gold: Any, extra: Mapping[str, Any] | None, prompt_key: str | None
) -> dict[str, Any]:
    row: dict[str, Any] = {"response": response, "reference": gold}
    if prompt_key is not None:
        row["prompt"] = (extra or {})[prompt_key]
    return row


def _scorer(given: str | Mapping[str, str] | None, data_source: str) -> str:
    """Raises `ValueError` where nobody is named: a guess would train on somebody else's rewards."""
    if given is None or isinstance(given, str):
        named = environment.scorer(given)
        if named is None:
            raise ValueError(f"no scorer: give reward_kwargs.scorer or {environment.SCORER}")
        return named
    if data_source not in given:
        raise ValueError(f"no scorer for data_source {data_source!r}; there are {sorted(given)}")
    return given[data_source]


def _score(verdict: Verdict, failed_score: float | None) -> Score:
    reason = str(verdict.reason) if verdict.reason else ""
    if verdict.score is None:
        if failed_score is None:
            raise NotMeasured(verdict.status, reason)
        return _failed(failed_score, verdict.status, reason)
    label = verdict.label or ""
    return Score(
        score=verdict.score, measured=1.0, status=verdict.status, label=label, reason=reason
    )


def _lost(error: TribunalError, failed_score: float | None) -> Score:
    """A server that is gone may come back. One that refuses will refuse every sample."""
    if failed_score is None or not error.passing:
        raise error
    return _failed(failed_score, "unreachable", str(error))


def _failed(score: float, status: str, reason: str) -> Score:
    return Score(score=float(score), measured=0.0, status=status, label="", reason=reason)
