r"""Client of the Tribunal reward server.

    from tribunal_client import Tribunal

    with Tribunal("http://127.0.0.1:8080") as tribunal:
        verdict = tribunal.score("math", "So it is \\\boxed{1/2}.", "0.5")
        assert verdict.ok and verdict.score == 1.0

A failed measurement is never a number: `score` is None unless `status` is `ok`. Rewards for
trainers are in the modules `trl`, `verl`, `openrlhf`, `prime` and `ray`; importing this
package imports none of them.
"""

from .aio import AsyncTribunal
from .catalogue import Answer, Decision, Health, Served
from .client import Tribunal
from .errors import (
    MalformedReply,
    NotMeasured,
    Overloaded,
    RequestRefused,
    ServerFailed,
    TimedOut,
    TribunalError,
    Unreachable,
)
from .http import Settings
from .inputs import Input, Options
from .retry import NEVER, Retry
from .verdict import Candidate, Digests, Part, Ranked, Reason, Step, Verdict

__version__ = "0.1.0"

__all__ = [
    "NEVER",
    "Answer",
    "AsyncTribunal",
    "Candidate",
    "Decision",
    "Digests",
    "Health",
    "Input",
    "MalformedReply",
    "NotMeasured",
    "Options",
    "Overloaded",
    "Part",
    "Ranked",
    "Reason",
    "RequestRefused",
    "Retry",
    "Served",
    "ServerFailed",
    "Settings",
    "Step",
    "TimedOut",
    "Tribunal",
    "TribunalError",
    "Unreachable",
    "Verdict",
    "__version__",
]
