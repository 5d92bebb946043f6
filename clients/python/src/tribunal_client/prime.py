"""A judge of the `verifiers` package, which environments of prime-rl are made of (0.4).

In a task's configuration:

    [[env.taskset.task.judges]]
    id = "tribunal-judge"
    scorer = "math"
    url = "http://127.0.0.1:8080"

or from code, in a `@vf.reward`:

    verdict = await TribunalJudge(config).verdict(self.data, trace)

This module needs `verifiers`; nothing else of this package does.
"""

from __future__ import annotations

import os
from typing import Any

from verifiers.v1.configs.judge import JudgeConfig
from verifiers.v1.judge import Judge, JudgeView, judge_question, judge_response
from verifiers.v1.task import TaskData
from verifiers.v1.trace import Trace

from . import environment, shared
from .environment import API_KEY
from .errors import NotMeasured
from .http import DEFAULT_URL
from .inputs import Options
from .verdict import Verdict


class TribunalJudgeConfig(JudgeConfig):
    """Who judges, and what is sent. What a chat model would be asked with has no effect here."""

    id: str = "tribunal-judge"
    scorer: str = "math"
    """Who judges, by name."""
    url: str = DEFAULT_URL
    """Where the server listens."""
    api_key_var: str = API_KEY
    """Environment variable with the server's API key, if it has keys."""
    answer_field: str = "answer"
    """Field of the task with the gold answer; empty for scorers that need none."""
    question_field: str | None = ""
    """Field of the task with the question; empty for its prompt, None to send none."""
    view: JudgeView = "last_reply"
    """What is judged."""
    explain: bool = False
    """Whether the record of the call has the reason in words."""


class TribunalJudge(Judge[float, TribunalJudgeConfig]):
    """The score of a scorer as a reward.

    What cannot be measured raises, as judges of this interface do: the rollout is an error and is
    not trained on. It is not scored against the policy.
    """

    async def score(self, task: TaskData, trace: Trace) -> float:
        """The reward of a rollout.

        Raises:
            NotMeasured: the verdict has no score.
            TribunalError: there is no verdict.
        """
        verdict = await self.verdict(task, trace)
        if verdict.score is None:
            raise NotMeasured(verdict.status, str(verdict.reason) if verdict.reason else None)
        return verdict.score

    async def verdict(self, task: TaskData, trace: Trace) -> Verdict:
        """The whole verdict on a rollout, which is noted in `trace.info["tribunal"]` too."""
        config = self.config
        # Where the named variable is not set there is no key: another one's is for another server.
        settings = environment.settings(config.url, os.environ.get(config.api_key_var, ""))
        options: Options = {"explain": config.explain}
        client = shared.async_client(settings)
        row = self._row(task, judge_response(trace, config.view))
        verdict = (await client.score_many(config.scorer, [row], options=options))[0]
        noted = trace.info.setdefault("tribunal", {})
        noted[self.reward_name] = {"scorer": config.scorer, **verdict.details}
        return verdict

    def _row(self, task: TaskData, response: str) -> dict[str, Any]:
        config = self.config
        row: dict[str, Any] = {"response": response}
        if config.question_field is not None:
            row["prompt"] = judge_question(task, config.question_field)
        if config.answer_field:
            answer = getattr(task, config.answer_field, None)
            if answer is None:
                raise ValueError(f"the task has no field {config.answer_field!r}")
            row["reference"] = list(answer) if isinstance(answer, tuple) else answer
        return row


__all__ = ["TribunalJudge", "TribunalJudgeConfig"]
