# SPDX-License-Identifier: MIT OR Apache-2.0
"""The node of this process."""

from __future__ import annotations

import atexit
import enum
import errno
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ._errors import EventsLostError, LNetError, check
from ._events import EventQueue, poll
from ._library import ffi, lib
from ._memory import Buffer, MemoryDescriptor, Transfer, of_queues
from ._nid import PID_ANY, PID_LUSTRE, Address, Nid, ProcessId, process_of, process_to_c

if TYPE_CHECKING:
    from types import TracebackType

# Held while a network starts or stops: handles of one mean something else in the next.
_LIFE = threading.RLock()
_OPEN: list[Node] = []
ANYONE = ProcessId(Nid.ANY, PID_ANY)


class Operations(enum.IntFlag):
    """What other nodes may do with attached memory."""

    PUT = lib.LNET_MD_OP_PUT
    GET = lib.LNET_MD_OP_GET


class Node:
    """The network of this process, or a further reference to it: `with Node("tcp(eth0)") as node:`.

    Without networks the environment has them (LNET_NETWORKS), or the process uses the node of an lnetd. All nodes of a process are the
    same one, which the first configures; it stops with the last.
    """

    def __init__(
        self,
        networks: str | None = None,
        *,
        accept: str | None = None,
        port: int | None = None,
        environment: Mapping[str, str] | None = None,
        pid: int = PID_LUSTRE,
    ) -> None:
        """Start the network. `networks`, `accept`, `port` and `environment` stand for variables of the environment.

        Those are LNET_NETWORKS, LNET_ACCEPT, LNET_ACCEPT_PORT, and any others.
        """
        given = {"LNET_NETWORKS": networks, "LNET_ACCEPT": accept, "LNET_ACCEPT_PORT": port}
        variables = {name: str(value) for name, value in given.items() if value is not None}
        self._queues: list[EventQueue] = []
        self._is_open = False
        with _LIFE, _environment({**variables, **(environment or {})}):
            check("LNetNIInit", lib.LNetNIInit(pid))
            self._is_open = True
            _OPEN.append(self)

    def close(self) -> None:
        """Give the reference back. Memory of this node's descriptors is the program's again, without events.

        PUTs and GETs that have not left have two seconds for it. Does nothing a second time.
        """
        with _LIFE:
            if not self._is_open:
                return
            self._is_open = False
            _OPEN.remove(self)
            # In a child of fork the network is down.
            result = lib.LNetNIFini()
            if not _is_down():
                self._close_queues(list(self._queues))
            else:
                for md in of_queues(self._queues):
                    md._release()
            for queue in self._queues:
                queue._forget()
            self._queues.clear()
            if result != -errno.ENETDOWN:
                check("LNetNIFini", result)

    def __enter__(self) -> Node:
        """Return the node."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close the node."""
        self.close()

    @property
    def nids(self) -> list[Nid]:
        """The NIDs of the node, but for the loopback."""
        return [process.nid for process in self._processes() if process.nid != Nid.LOOPBACK]

    @property
    def nid(self) -> Nid:
        """The first NID by which other nodes reach this one; `0@lo` if there is none."""
        return next(iter(self.nids), Nid.LOOPBACK)

    @property
    def pid(self) -> int:
        """The PID of this process on the node."""
        return next(self._processes()).pid

    def primary_nid(self, nid: Nid | str) -> Nid:
        """Return the NID that stands for the node with this one, as `Event.initiator` has it."""
        self._check_open()
        return Nid(int(lib.LNetPrimaryNID(int(Nid(nid)))))

    def distance(self, nid: Nid | str) -> int:
        """Return 0 for this node, 1 on one of its nets, more over routers."""
        self._check_open()
        return check("LNetDist", lib.LNetDist(int(Nid(nid)), ffi.NULL, ffi.NULL))

    def set_lazy(self, portal: int, lazy: bool = True) -> None:
        """Let PUTs wait at a portal until memory is attached for them, instead of being dropped; or drop them again."""
        self._check_open()
        if lazy:
            check("LNetSetLazyPortal", lib.LNetSetLazyPortal(portal))
        else:
            check("LNetClearLazyPortal", lib.LNetClearLazyPortal(portal))

    def queue(self, count: int = 256) -> EventQueue:
        """Make a queue that keeps `count` events until they are read. When it is full the oldest is lost."""
        self._check_open()
        made = EventQueue(self, count)
        self._queues.append(made)
        return made

    def attach(
        self,
        queue: EventQueue,
        buffer: Buffer,
        *,
        portal: int,
        match_bits: int,
        ignore_bits: int = 0,
        source: Address = ANYONE,
        operations: Operations = Operations.PUT,
        count: int | None = 1,
        truncate: bool = False,
        remote_offset: bool = False,
        max_size: int | None = None,
    ) -> MemoryDescriptor:
        """Let other nodes use memory: their messages to `portal` whose match bits are these, except for `ignore_bits`.

        The memory is unlinked after `count` operations; None for no limit. A message that is too long is dropped, or with `truncate`
        cut short. Messages lie one behind the other, or with `remote_offset` where their senders say. With `max_size` no message is
        longer, and the memory is unlinked when less than that is free. `source` is compared with the primary NID of the sender.
        """
        self._check_open()
        options = (
            int(operations)
            | (lib.LNET_MD_TRUNCATE if truncate else 0)
            | (lib.LNET_MD_MANAGE_REMOTE if remote_offset else 0)
            | (lib.LNET_MD_MAX_SIZE if max_size is not None else 0)
        )
        is_written = bool(operations & Operations.PUT)
        threshold = lib.LNET_MD_THRESH_INF if count is None else count
        md = MemoryDescriptor(queue, buffer, threshold=threshold, options=options, is_written=is_written)
        if max_size is not None:
            md._md.max_size = max_size
        entry = ffi.new("struct lnet_handle_me *")
        whom = process_to_c(process_of(source))
        place = lib.LNET_INS_AFTER
        result = lib.LNetMEAttach(portal, whom, match_bits, ignore_bits, lib.LNET_UNLINK, place, entry)
        if result < 0:
            md._release()
            raise LNetError("LNetMEAttach", result)
        try:
            md._make("LNetMDAttach", lambda spec, handle: lib.LNetMDAttach(entry[0], spec, lib.LNET_UNLINK, handle))
        except LNetError:
            lib.LNetMEUnlink(entry[0])
            raise
        return md

    def put(
        self,
        queue: EventQueue,
        data: Buffer,
        target: Address,
        *,
        portal: int,
        match_bits: int,
        offset: int = 0,
        hdr_data: int = 0,
        ack: bool = True,
        source: Nid = Nid.ANY,
    ) -> Transfer:
        """Send memory, at most 1 MiB, to a node: to what it has attached at `portal` for `match_bits`.

        Returns at once. `Transfer.result` waits until the target has the data; without `ack`, until they are sent.
        """
        to = process_to_c(process_of(target))
        want = lib.LNET_ACK_REQ if ack else lib.LNET_NOACK_REQ
        md = self._bind(queue, data, threshold=2 if ack else 1, is_written=False)
        result = lib.LNetPut(int(source), md._handle[0], want, to, portal, match_bits, offset, hdr_data)
        return self._started("LNetPut", md, result)

    def get(
        self,
        queue: EventQueue,
        buffer: Buffer,
        target: Address,
        *,
        portal: int,
        match_bits: int,
        offset: int = 0,
        source: Nid = Nid.ANY,
    ) -> Transfer:
        """Fill memory, at most 1 MiB, from what a node has attached at `portal` for `match_bits`.

        Returns at once. `Transfer.result` waits until the data are there.
        """
        at = process_to_c(process_of(target))
        md = self._bind(queue, buffer, threshold=2, is_written=True)
        result = lib.LNetGet(int(source), md._handle[0], at, portal, match_bits, offset)
        return self._started("LNetGet", md, result)

    def _bind(self, queue: EventQueue, buffer: Buffer, *, threshold: int, is_written: bool) -> Transfer:
        self._check_open()
        md = Transfer(queue, buffer, threshold=threshold, options=0, is_written=is_written)
        md._make("LNetMDBind", lambda spec, handle: lib.LNetMDBind(spec, lib.LNET_UNLINK, handle))
        return md

    def _started(self, call: str, md: Transfer, result: int) -> Transfer:
        if result < 0:
            # Nothing is in progress, so that this is its end. Nobody is told of it.
            lib.LNetMDUnlink(md._handle[0])
            md._release()
            raise LNetError(call, result)
        return md

    def _processes(self) -> Iterator[ProcessId]:
        """Return the process as each interface of the node has it, the loopback first."""
        self._check_open()
        index, own = 0, ffi.new("struct lnet_process_id *")
        while (result := lib.LNetGetId(index, own)) != -errno.ENOENT:
            check("LNetGetId", result)
            yield ProcessId(Nid(int(own.nid)), own.pid)
            index += 1

    def _check_open(self) -> None:
        if not self._is_open:
            raise LNetError("Node", -errno.ENETDOWN)

    def _close_queues(self, queues: list[EventQueue]) -> None:
        """End the use of these queues, as `EventQueue.__exit__` says. The memory of a descriptor that does not end stays LNet's."""
        with _LIFE:
            for md in of_queues(queues):
                if not isinstance(md, Transfer):
                    lib.LNetMDUnlink(md._handle[0])
            _await_last_events(queues)
            for md in of_queues(queues):
                lib.LNetMDUnlink(md._handle[0])
            _await_last_events(queues)
            for queue in queues:
                if not of_queues([queue]):
                    queue.close()
                if queue in self._queues:
                    self._queues.remove(queue)


# The seconds that LNetNIFini gives PUTs and GETs.
_TIME_TO_LEAVE = 2.0


def _await_last_events(queues: list[EventQueue]) -> None:
    """Read events until no descriptor uses these queues, for a limited time."""
    end = time.monotonic() + _TIME_TO_LEAVE
    while of_queues(queues) and time.monotonic() < end:
        try:
            poll(queues, end - time.monotonic())
        except EventsLostError:
            continue
        except LNetError:
            return


@atexit.register
def _close_all() -> None:
    """Stop the network before the interpreter frees the memory that LNet has."""
    for node in list(_OPEN):
        node.close()


def _is_down() -> bool:
    return int(lib.LNetGetId(0, ffi.new("struct lnet_process_id *"))) == -errno.ENETDOWN


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables, and give them their values of before in the end."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
