# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the tests share: environments of nodes, which are on the loopback or on addresses of it."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import liblnet

# Every wait of a test ends, as a failure, after this many seconds.
LONGEST = 60.0


@pytest.fixture(scope="session")
def port() -> int:
    """A TCP port that is free on all addresses."""
    with socket.socket() as listener:
        listener.bind(("", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, port: int) -> None:
    """Set the environment of nodes that no other program sees."""
    for name in [name for name in os.environ if name.startswith(("LNET_", "SOCKLND_"))]:
        monkeypatch.delenv(name)
    for name, value in {
        "LNET_ACCEPT": "all",
        "LNET_ACCEPT_PORT": str(port),
        "LNET_ATTACH": "no",
        "LNET_DEBUG": "off",
        "LNET_RUNTIME_DIR": str(tmp_path),
        "LNET_RETRY_COUNT": "0",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def node() -> Iterator[liblnet.Node]:
    """A node on the loopback."""
    with liblnet.Node("lo") as node:
        yield node
