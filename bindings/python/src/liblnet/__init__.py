# SPDX-License-Identifier: MIT OR Apache-2.0
"""LNet, the network of the Lustre file system, in user space.

A process is a node (`Node`). It moves memory by `Node.put` and `Node.get`, lets other nodes use its own by `Node.attach`, and
learns from event queues (`Node.queue`) what has happened.
"""

from importlib.metadata import PackageNotFoundError, version

from ._errors import EventsLostError, LNetError
from ._events import Event, EventKind, EventQueue, poll
from ._library import lib as _lib
from ._memory import MemoryDescriptor, Transfer
from ._nid import PID_ANY, PID_LUSTRE, Nid, ProcessId
from ._node import ANYONE, Node, Operations

# The length of the longest message.
MTU: int = _lib.LNET_MTU

__all__ = [
    "ANYONE",
    "MTU",
    "PID_ANY",
    "PID_LUSTRE",
    "Event",
    "EventKind",
    "EventQueue",
    "EventsLostError",
    "LNetError",
    "MemoryDescriptor",
    "Nid",
    "Node",
    "Operations",
    "ProcessId",
    "Transfer",
    "poll",
]

try:
    __version__ = version("liblnet")
except PackageNotFoundError:  # A source tree.
    __version__ = "0"
