"""The judge under a name that `verifiers` can find: a plugin's id is the name of a module."""

from tribunal_client.prime import TribunalJudge, TribunalJudgeConfig

__all__ = ["TribunalJudge", "TribunalJudgeConfig"]
