"""A server of one's own: `tribunal serve` as a child process, for tests and for cluster workers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from .errors import Unreachable

if TYPE_CHECKING:
    from typing_extensions import Self

LISTENS = re.compile(r"listening on (http://\S+)")
"""The one line that the server writes to standard output, once it takes work."""


class LocalServer:
    """A server on a free port of this machine, which ends with `close` or the `with` block.

    Args:
        binary: the program, a path or a name on `PATH`.
        arguments: what else `tribunal serve` is told, such as `["--model", "rm=models/rm"]`.

    Raises:
        Unreachable: it ended before it listened; the log on standard error says why.
    """

    def __init__(self, binary: str = "tribunal", arguments: Sequence[str] = ()) -> None:
        command = [binary, "serve", "--bind", "127.0.0.1:0", "--log", "warn", *arguments]
        self._process = subprocess.Popen(  # noqa: S603 - the caller names the program
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        self.pid = self._process.pid
        stdout = self._process.stdout
        found = LISTENS.search(stdout.readline()) if stdout else None
        if found is None:
            self.close()
            raise Unreachable(f"{' '.join(command)}: ended with {self._process.returncode}")
        self.url = found[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def kill(self) -> None:
        """Ends it at once, as a machine that fails would."""
        self._process.kill()
        self._process.wait()

    def close(self, patience: float = 10.0) -> None:
        """Lets it answer what it has taken on, for so many seconds at most."""
        self._process.terminate()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
        if self._process.stdout is not None:
            self._process.stdout.close()
