"""Clients that live as long as what they belong to: a process, or an event loop.

Trainers call plain functions, from processes that fork and from loops that come and go. Connections
must not outlive either: a forked copy of one would mix two processes' replies.
"""

from __future__ import annotations

import asyncio
import os
import threading
from weakref import WeakKeyDictionary

from .aio import AsyncTribunal
from .client import Tribunal
from .http import Settings

_lock = threading.Lock()
_of_process: dict[tuple[int, Settings], Tribunal] = {}
_of_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Settings, AsyncTribunal]] = (
    WeakKeyDictionary()
)


def client(settings: Settings) -> Tribunal:
    """This process's client of these settings."""
    key = (os.getpid(), settings)
    with _lock:
        if key not in _of_process:
            _of_process[key] = Tribunal.of(settings)
        return _of_process[key]


def async_client(settings: Settings) -> AsyncTribunal:
    """The running loop's client of these settings."""
    loop = asyncio.get_running_loop()
    with _lock:
        clients = _of_loop.setdefault(loop, {})
        if settings not in clients:
            clients[settings] = AsyncTribunal.of(settings)
        return clients[settings]


def _begin_anew() -> None:
    _of_process.clear()
    _lock.release()


if hasattr(os, "register_at_fork"):
    # A fork waits for the lock. Otherwise the child could get it locked by a thread that only the
    # parent has, and would wait for it for ever.
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_begin_anew
    )
