# SPDX-License-Identifier: MIT OR Apache-2.0
"""The mistakes of docs/guides/ten-mistakes.md, as a Python program makes them: each raises what names it."""

import os

import pytest
from conftest import LONGEST

import liblnet

SELF = "0@lo"


@pytest.mark.parametrize(
    ("networks", "target", "text"),
    [
        ("lo", "10.0.0.1@tcp7", "no path: this node is not on the target's net"),
        ("tcp(127.0.1.1)", "127.0.1.9@tcp", "or the target refuses connections"),
        ("lo", SELF, "no response in time: the target is away, or nothing matched there"),
    ],
)
def test_a_put_that_cannot_arrive_says_why(networks: str, target: str, text: str) -> None:
    with (
        liblnet.Node(networks, environment={"LNET_TRANSACTION_TIMEOUT": "1"}) as node,
        node.queue() as queue,
        pytest.raises(liblnet.LNetError, match=text),
    ):
        node.put(queue, b"hello", target, portal=10, match_bits=1).result(LONGEST)


def test_lost_events_are_an_error_that_has_the_next_event(node: liblnet.Node) -> None:
    queue = node.queue(2)
    for _ in range(5):
        node.put(queue, b"hello", SELF, portal=10, match_bits=1, ack=False)
    with pytest.raises(liblnet.EventsLostError, match="events were lost because the queue was full") as raised:
        queue.poll()
    assert raised.value.event is not None
    assert raised.value.event.kind == liblnet.EventKind.SEND


def test_a_queue_in_use_is_not_closed(node: liblnet.Node) -> None:
    with node.queue() as queue:
        node.attach(queue, bytearray(8), portal=10, match_bits=1)
        with pytest.raises(liblnet.LNetError, match="a memory descriptor still uses the queue"):
            queue.close()


def test_a_node_that_cannot_start_says_why_and_leaves_the_environment() -> None:
    before = dict(os.environ)
    with pytest.raises(liblnet.LNetError, match="an interface of LNET_NETWORKS does not exist"):
        liblnet.Node("tcp(no-such-if0)")
    assert dict(os.environ) == before


def test_a_node_that_is_closed_is_down(node: liblnet.Node) -> None:
    queue = node.queue()
    node.close()
    with pytest.raises(liblnet.LNetError, match="the network is down"):
        node.put(queue, b"hello", SELF, portal=10, match_bits=1)
    with pytest.raises(liblnet.LNetError):
        queue.poll()
    assert list(queue) == []
