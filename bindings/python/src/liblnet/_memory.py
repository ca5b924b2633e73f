# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory descriptors: memory of the program that LNet uses until the descriptor's last event.

LNet has the address of the memory, so Python must neither free nor resize it. Each descriptor exports the buffer of its object,
and `_LIVE` keeps the descriptor, until an event says that it is unlinked or the network is down.
"""

from __future__ import annotations

import errno
import itertools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ._errors import LNetError, check
from ._library import ffi, lib

if TYPE_CHECKING:
    from ._events import Event, EventQueue

# An object with the buffer protocol: bytes, bytearray, memoryview, mmap, array, a NumPy array.
Buffer: TypeAlias = Any

# The descriptors whose memory LNet has, by the number that is their `user_ptr`.
_LIVE: dict[int, MemoryDescriptor] = {}
_NUMBERS = itertools.count(1)


class MemoryDescriptor:
    """Memory, and what may happen to it. It stays valid, and its object unchanged in size, until `is_unlinked`."""

    def __init__(self, queue: EventQueue, buffer: Buffer, *, threshold: int, options: int, is_written: bool) -> None:
        """Export the memory of `buffer`; `_make` gives it to LNet."""
        self.queue = queue
        self.buffer = buffer
        self.is_unlinked = False
        self._handle = ffi.new("struct lnet_handle_md *")
        self._number = next(_NUMBERS)
        self._memory = ffi.from_buffer("char[]", buffer, require_writable=is_written)
        self._md = ffi.new(
            "struct lnet_md *",
            {
                "start": self._memory,
                "length": len(self._memory),
                "threshold": threshold,
                "options": options,
                "user_ptr": ffi.cast("void *", self._number),
                "eq_handle": queue._handle[0],
            },
        )

    def __len__(self) -> int:
        """Return the number of bytes."""
        return int(self._md.length)

    def unlink(self) -> None:
        """End the descriptor. The memory is in use until the last event, which `EventQueue.poll` returns.

        Does nothing if it has been unlinked, also by itself.
        """
        result = lib.LNetMDUnlink(self._handle[0])
        # It may have been exhausted a moment ago, and its last event may not have been read.
        if result != -errno.ENOENT:
            check("LNetMDUnlink", result)

    def _make(self, call: str, make: Callable[[Any, Any], int]) -> None:
        """Give the memory to LNet by `make`, to which the description and the place for the handle are passed."""
        # Events may come, on another thread, before the call returns.
        _LIVE[self._number] = self
        result = make(self._md[0], self._handle)
        if result < 0:
            self._release()
            raise LNetError(call, result)

    def _note(self, event: Event) -> None:
        """Take notice of an event of this descriptor."""
        if event.unlinked:
            self._release()

    def _release(self) -> None:
        """Return the memory to the program."""
        _LIVE.pop(self._number, None)
        if not self.is_unlinked:
            self.is_unlinked = True
            ffi.release(self._memory)


class Transfer(MemoryDescriptor):
    """A PUT or GET of this node, on its way or done."""

    _status = 0
    _response: Event | None = None

    def result(self, timeout: float | None = None) -> Event:
        """Wait until the operation has ended, and return its event.

        That is ACK for a PUT, whose `mlength` says how many bytes the target has taken; REPLY for a GET; SEND for a PUT without an ACK.
        Raises `LNetError` if the operation failed, `TimeoutError` after `timeout` seconds. Events of other descriptors stay in the queue.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while not self.is_unlinked:
            self.queue._read_for(self, end)
        if self._status < 0:
            raise LNetError(None, self._status)
        assert self._response is not None, "an operation without a response has a status"
        return self._response

    def _note(self, event: Event) -> None:
        self._status = self._status or event.status
        if self._response is None or event.kind in (lib.LNET_EVENT_ACK, lib.LNET_EVENT_REPLY):
            self._response = event
        super()._note(event)


def of_number(number: int) -> MemoryDescriptor | None:
    """Return the descriptor with this `user_ptr`; None for one that is not of this package."""
    return _LIVE.get(number)


def of_queues(queues: list[EventQueue]) -> list[MemoryDescriptor]:
    """Return the descriptors of these queues whose memory LNet has."""
    return [md for md in list(_LIVE.values()) if md.queue in queues]
