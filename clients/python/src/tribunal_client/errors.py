"""What can go wrong between a caller and a server, told apart by what the caller can do.

`RequestRefused` is the caller's to mend, `Overloaded` and `Unreachable` pass with time or on
another server, `ServerFailed` and `MalformedReply` are the server's fault. What could not be
measured of a single input is none of these: it is the `status` of that input's verdict.
"""

from __future__ import annotations

from typing import Any, ClassVar


class TribunalError(Exception):
    """Anything that this package raises about a server."""

    passing: ClassVar[bool] = False
    """Whether the same request may succeed later, or at another server."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Workers of other processes send errors home, and some of these need named arguments.
        return _again, (type(self), self.args, self.__dict__)


def _again(
    kind: type[TribunalError], args: tuple[Any, ...], fields: dict[str, Any]
) -> TribunalError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(fields)
    return error


class RequestRefused(TribunalError):
    """The server will not do this, however often it is asked."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str | None = None,
        param: str | None = None,
        type: str | None = None,  # noqa: A002 - it is the server's word
    ) -> None:
        super().__init__(message)
        self.message = message
        """For people."""
        self.status = status
        """The HTTP status, such as 404."""
        self.code = code
        """The server's word for programs, such as `model_not_found`."""
        self.param = param
        """JSON path of the offending value, such as `inputs[3].reference`. Of a list that went out
        in several requests the index is that in the whole list."""
        self.type = type
        """The family, such as `invalid_request_error`."""

    def __str__(self) -> str:
        return f"{self.message} ({self.status} {self.code or 'without a code'})"


class Overloaded(TribunalError):
    """The server had no room in all the tries that were allowed."""

    passing = True

    def __init__(self, message: str, *, status: int, retry_after: float | None) -> None:
        super().__init__(message)
        self.status = status
        """429 or 503."""
        self.retry_after = retry_after
        """Seconds that the server asked to wait, where it said."""


class Unreachable(TribunalError):
    """No reply came: nobody listens, or the connection was lost on every try."""

    passing = True


class TimedOut(Unreachable):
    """The connection stood, and no reply came in time. Not tried again: the work may go on."""


class ServerFailed(TribunalError):
    """The server has a fault (5xx other than 503)."""

    passing = True

    def __init__(self, message: str, *, status: int, code: str | None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class MalformedReply(TribunalError):
    """A reply that is not what the server's interface says. No number is made of it."""

    passing = True

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.place = ""
        """JSON path of what is strange, such as `results[3].score`."""

    def within(self, place: str) -> MalformedReply:
        """The same, of a part of something larger."""
        joint = "." if place and self.place and not self.place.startswith("[") else ""
        self.place = place + joint + self.place
        return self

    def __str__(self) -> str:
        return f"{self.place or 'the reply'}: {self.args[0]}"


class NotMeasured(TribunalError):
    """A trainer's interface asked for a number where there is none."""

    def __init__(self, status: str, reason: str | None) -> None:
        super().__init__(f"not measured: {status}" + (f" ({reason})" if reason else ""))
        self.status = status
        """The verdict's status, such as `bad_reference`."""
        self.reason = reason
        """Its reason, where there is one."""
