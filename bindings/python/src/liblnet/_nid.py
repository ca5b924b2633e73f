# SPDX-License-Identifier: MIT OR Apache-2.0
"""Addresses of interfaces and processes."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, TypeAlias

from ._library import ffi, lib


class Nid:
    """The address of an interface of a node, such as `10.0.0.1@tcp`. `Nid.ANY` stands for any."""

    __slots__ = ("_value",)
    ANY: ClassVar[Nid]
    LOOPBACK: ClassVar[Nid]

    def __init__(self, nid: str | int | Nid) -> None:
        """Read a text, or take the number that C programs have. Raises ValueError for a text that is no NID."""
        if isinstance(nid, str):
            value = int(lib.libcfs_str2nid(nid.encode()))
            if value == lib.LNET_NID_ANY:
                raise ValueError(f"{nid!r} is no NID; one is ADDRESS@NET, such as 192.0.2.1@tcp")
        else:
            value = int(nid)
            if not 0 <= value <= lib.LNET_NID_ANY:
                raise ValueError(f"{nid!r} is no NID")
        self._value = value

    def __int__(self) -> int:
        """Return the number that C programs have."""
        return self._value

    def __str__(self) -> str:
        """Return the text, `*` for any."""
        if self._value == lib.LNET_NID_ANY:
            return "*"
        text = ffi.new("char[]", 64)
        return bytes(ffi.string(lib.libcfs_nid2str_r(self._value, text, len(text)))).decode()

    def __repr__(self) -> str:
        """Return an expression."""
        return "Nid.ANY" if self._value == lib.LNET_NID_ANY else f"Nid({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        """Compare two NIDs."""
        return self._value == other._value if isinstance(other, Nid) else NotImplemented

    def __hash__(self) -> int:
        """Hash the number."""
        return hash(self._value)


Nid.ANY = Nid(lib.LNET_NID_ANY)
Nid.LOOPBACK = Nid("0@lo")

PID_LUSTRE: int = lib.LNET_PID_LUSTRE
PID_ANY: int = lib.LNET_PID_ANY


class ProcessId(NamedTuple):
    """A process on a node."""

    nid: Nid
    pid: int = PID_LUSTRE


# A node, by one of its NIDs or their texts: the process there with Lustre's PID; or a process.
Address: TypeAlias = Nid | str | ProcessId


def process_of(address: Address) -> ProcessId:
    """Return the process that an address means."""
    return address if isinstance(address, ProcessId) else ProcessId(Nid(address))


def process_to_c(process: ProcessId) -> Any:
    """Return a process as C has it."""
    return ffi.new("struct lnet_process_id *", {"nid": int(process.nid), "pid": process.pid})[0]


def process_from_c(process: Any) -> ProcessId:
    """Return a process of C."""
    return ProcessId(Nid(int(process.nid)), process.pid)
