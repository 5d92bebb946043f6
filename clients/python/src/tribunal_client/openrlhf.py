"""OpenRLHF's reward function in a file: `--reward.remote_url FILE.py`.

    from tribunal_client.openrlhf import reward_func

is all that the file has to hold. Over the bare URL of `/get_reward` it adds an API key, as many
tries as an overload takes, and an error that says what could not be measured.

`TRIBUNAL_URL`, `TRIBUNAL_SCORER`, `TRIBUNAL_API_KEY` and `TRIBUNAL_PATIENCE` (seconds for which a
server that is full or gone is asked again) are read from the environment. OpenRLHF has no word for
a sample without a reward, and drops none: an error ends the run. Where a number is to stand for it,
`TRIBUNAL_FAILED_REWARD` says which, and `extra_logs["measured"]` counts. The other samples of the
call keep their own rewards.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any

from tribunal_client import environment, shared
from tribunal_client.client import Tribunal
from tribunal_client.errors import NotMeasured, ServerFailed, TribunalError
from tribunal_client.openrlhf_wire import Rewards

FAILED_REWARD = "TRIBUNAL_FAILED_REWARD"


def reward_func(
    queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]
) -> dict[str, Any]:
    """Rewards of rendered texts, as tensors where there is torch.

    Returns:
        `rewards`, `scores` for dynamic filtering, and `extra_logs`; of all a number for each query.

    Raises:
        NotMeasured: a query has no reward, and nothing stands for it.
        TribunalError: the server refuses the request, or cannot be had.
    """
    client = shared.client(environment.settings())
    asked, measured = _asked(client, queries, prompts, labels)
    return {
        "rewards": _numbers(asked.rewards),
        "scores": _numbers(asked.scores),
        "extra_logs": {
            "score": _numbers(asked.scores),
            "measured": _numbers(measured),
        },
    }


def _asked(
    client: Tribunal,
    queries: Sequence[str],
    prompts: Sequence[str] | None,
    labels: Sequence[Any] | None,
) -> tuple[Rewards, tuple[float, ...]]:
    """Rewards, and for each sample 1.0, or 0.0 where the stand-in is its reward."""
    n_samples = len(queries)
    try:
        asked = client.rewards(queries, prompts, labels, model=environment.scorer())
    except TribunalError as error:
        stand_in = os.environ.get(FAILED_REWARD)
        if not stand_in or not (error.passing or isinstance(error, NotMeasured)):
            raise
        if n_samples <= 1 or not isinstance(error, (NotMeasured, ServerFailed)):
            return Rewards.all(float(stand_in), n_samples), (0.0,) * n_samples
    else:
        return asked, (1.0,) * n_samples
    # One sample without a reward fails the whole request, so the halves are asked for.
    half = n_samples // 2
    (first, of_first), (second, of_second) = (
        _asked(
            client,
            queries[part],
            None if prompts is None else prompts[part],
            None if labels is None else labels[part],
        )
        for part in (slice(half), slice(half, None))
    )
    both = Rewards(first.rewards + second.rewards, first.scores + second.scores)
    return both, of_first + of_second


def _numbers(numbers: Sequence[float]) -> Any:
    """A tensor, which is what OpenRLHF's own examples give; a list where there is no torch."""
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError:
        return list(numbers)
    return torch.tensor(numbers, dtype=torch.float32)
