# SPDX-License-Identifier: MIT OR Apache-2.0
"""Errors of LNet as exceptions."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from ._library import ffi, lib

if TYPE_CHECKING:
    from ._events import Event


class LNetError(OSError):
    """An error of a call or of an operation: `errno` is its number, `strerror` says what is usually wrong."""

    def __init__(self, call: str | None, result: int) -> None:
        """Make the error of a call that returned the negative `result`; without a call, that of an event's status."""
        text = lib.LNetErrorText(ffi.NULL if call is None else call.encode(), result)
        super().__init__(-result, ffi.string(text).decode())
        self.call = call

    def __str__(self) -> str:
        """Return the call, the text and the name of the number."""
        name = errno.errorcode.get(self.errno or 0, str(self.errno))
        return f"{self.call + ': ' if self.call else ''}{self.strerror} ({name})"


class EventsLostError(LNetError):
    """Events were lost because their queue was full. `event` is the next one, which was not lost."""

    def __init__(self, call: str, result: int, event: Event | None) -> None:
        """Make the error of a call that stored `event`."""
        super().__init__(call, result)
        self.event = event


def check(call: str, result: int) -> int:
    """Return the result of a call; raise its error if it is negative."""
    if result < 0:
        raise LNetError(call, result)
    return result
