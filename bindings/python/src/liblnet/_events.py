# SPDX-License-Identifier: MIT OR Apache-2.0
"""Events, and the queues from which a program reads them.

No code of Python runs on a thread of the library: queues have no handlers. A call that waits releases the interpreter lock.
"""

from __future__ import annotations

import enum
import errno
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._errors import EventsLostError, LNetError, check
from ._library import ffi, lib
from ._memory import MemoryDescriptor, of_number
from ._nid import Nid, ProcessId, process_from_c

if TYPE_CHECKING:
    from types import TracebackType

    from ._node import Node

# Python acts on signals, such as Ctrl-C, between calls alone.
_MAX_WAIT = 0.1
_NO_COOKIE = int(ffi.cast("uint64_t", lib.LNET_WIRE_HANDLE_COOKIE_NONE))


class EventKind(enum.IntEnum):
    """The type of an event."""

    GET = lib.LNET_EVENT_GET
    PUT = lib.LNET_EVENT_PUT
    REPLY = lib.LNET_EVENT_REPLY
    ACK = lib.LNET_EVENT_ACK
    SEND = lib.LNET_EVENT_SEND
    UNLINK = lib.LNET_EVENT_UNLINK


@dataclass(frozen=True)
class Event:
    """An event of a memory descriptor."""

    kind: EventKind
    # 0, or a negative errno: see `check`.
    status: int
    # Whether it is the last event of its descriptor, whose memory is free.
    unlinked: bool
    md: MemoryDescriptor
    # The process that the message was sent to.
    target: ProcessId
    # The sender, by the primary NID of its node: an identity.
    initiator: ProcessId
    # The interface that the message was sent from: the address for responses.
    source: ProcessId
    # The previous hop: a router, or the NID of `source`.
    sender: Nid
    portal: int
    match_bits: int
    hdr_data: int
    # The number of bytes requested, and the number moved, from `offset` of the memory on.
    rlength: int
    mlength: int
    offset: int

    @property
    def data(self) -> memoryview:
        """The bytes that were moved, in the memory of the descriptor."""
        return memoryview(self.md.buffer).cast("B")[self.offset : self.offset + self.mlength]

    def check(self) -> Event:
        """Return the event; raise its `LNetError` if the operation failed."""
        if self.status < 0:
            raise LNetError(None, self.status)
        return self


class EventQueue:
    """Events of memory descriptors, to be read. Made by `Node.queue`."""

    def __init__(self, node: Node, count: int) -> None:
        """Make a queue that keeps `count` events until they are read."""
        self.node = node
        self._handle = ffi.new("struct lnet_handle_eq *")
        # Events that a wait for another descriptor has read.
        self._put_aside: deque[Event] = deque()
        check("LNetEQAlloc", lib.LNetEQAlloc(count, ffi.NULL, self._handle))

    def poll(self, timeout: float | None = 0) -> Event | None:
        """Return the oldest event, after at most `timeout` seconds (None: no limit); None if there is none."""
        found = poll([self], timeout)
        return found[1] if found else None

    def wait(self, timeout: float | None = None) -> Event:
        """Return the oldest event. Raises `LNetError` if its status says so, `TimeoutError` after `timeout` seconds."""
        event = self.poll(timeout)
        if event is None:
            raise TimeoutError(f"no event in {timeout} s")
        return event.check()

    def __iter__(self) -> Iterator[Event]:
        """Return all events, waiting for each, until the queue or its node is closed."""
        while True:
            try:
                event = self.poll(None)
            except EventsLostError:
                raise
            except LNetError as error:
                if error.errno in (errno.ENOENT, errno.ENETDOWN):
                    return
                raise
            assert event is not None, "a wait without a limit returns an event"
            yield event

    def close(self) -> None:
        """Free the queue. Raises `LNetError` (EBUSY) while a memory descriptor uses it. Does nothing a second time."""
        if not self._is_closed():
            result = lib.LNetEQFree(self._handle[0])
            if result not in (-errno.ENOENT, -errno.ENETDOWN):
                check("LNetEQFree", result)
            self._forget()

    def __enter__(self) -> EventQueue:
        """Return the queue."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Unlink what is attached with the queue, let PUTs and GETs end for two seconds, and free the queue."""
        self.node._close_queues([self])

    def _is_closed(self) -> bool:
        return int(self._handle[0].cookie) == _NO_COOKIE

    def _forget(self) -> None:
        # Numbers of handles are used again when a network has been down.
        self._handle[0].cookie = _NO_COOKIE

    def _read_for(self, md: MemoryDescriptor, end: float | None) -> None:
        """Read an event, and keep it for `poll` if it is not of this descriptor. Raises `TimeoutError` at `end`."""
        read = _read([self], _until(end))
        if read is not None and read[1].md is not md:
            self._put_aside.append(read[1])
        elif read is None and end is not None and time.monotonic() >= end:
            raise TimeoutError("the operation has not ended")


def poll(queues: Sequence[EventQueue], timeout: float | None = 0) -> tuple[EventQueue, Event] | None:
    """Return the oldest event of the first of these queues that has one, and the queue.

    Waits for `timeout` seconds at most, None for no limit, and then returns None. Raises `EventsLostError` if events before it were lost,
    `LNetError` if a queue or its node is closed.
    """
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        for at, queue in enumerate(queues):
            if queue._put_aside:
                return queue, queue._put_aside.popleft()
            if any(later._put_aside for later in queues[at + 1 :]):
                found = _read([queue], 0)
                if found is not None:
                    return found
        found = _read(queues, _until(end))
        if found is not None or (end is not None and time.monotonic() >= end):
            return found


def _until(end: float | None) -> float:
    """Return the length of the next wait, in seconds."""
    return _MAX_WAIT if end is None else min(_MAX_WAIT, max(0.0, end - time.monotonic()))


def _read(queues: Sequence[EventQueue], timeout: float) -> tuple[EventQueue, Event] | None:
    """Read one event, after at most `timeout` seconds."""
    handles = ffi.new("struct lnet_handle_eq[]", [queue._handle[0] for queue in queues])
    event, which = ffi.new("struct lnet_event *"), ffi.new("int *")
    # Not less than asked for: it would be asked for the rest many times.
    milliseconds = -int(-timeout * 1000 // 1)
    while True:
        result = lib.LNetEQPoll(handles, len(queues), milliseconds, event, which)
        if result == -errno.EOVERFLOW:
            raise EventsLostError("LNetEQPoll", result, _event(event))
        if check("LNetEQPoll", result) == 0:
            return None
        made = _event(event)
        if made is not None:
            return queues[which[0]], made


def _event(event: Any) -> Event | None:
    """Take notice of an event, and return it; None for the end of a descriptor that the program has not got."""
    md = of_number(int(ffi.cast("uintptr_t", event.md.user_ptr)))
    if md is None:
        return None
    made = Event(
        kind=EventKind(event.type),
        status=event.status,
        unlinked=bool(event.unlinked),
        md=md,
        target=process_from_c(event.target),
        initiator=process_from_c(event.initiator),
        source=process_from_c(event.source),
        sender=Nid(event.sender),
        portal=event.pt_index,
        match_bits=event.match_bits,
        hdr_data=event.hdr_data,
        rlength=event.rlength,
        mlength=event.mlength,
        offset=event.offset,
    )
    md._note(made)
    return made
