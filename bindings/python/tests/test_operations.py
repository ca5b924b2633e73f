# SPDX-License-Identifier: MIT OR Apache-2.0
"""PUTs, GETs, their events, and the memory of descriptors."""

import array
import errno
import gc
import mmap
import threading
from pathlib import Path

import pytest
from conftest import LONGEST

import liblnet
from liblnet import EventKind, Operations

SELF = "0@lo"


def test_a_put_arrives_and_is_acknowledged(node: liblnet.Node) -> None:
    with node.queue() as sender, node.queue() as receiver:
        md = node.attach(receiver, bytearray(64), portal=10, match_bits=42)
        ack = node.put(sender, b"hello", SELF, portal=10, match_bits=42, hdr_data=7).result(LONGEST)
        assert (ack.kind, ack.mlength) == (EventKind.ACK, 5)
        put = receiver.wait(LONGEST)
        assert (put.kind, put.md, put.unlinked, put.portal, put.match_bits, put.hdr_data) == (EventKind.PUT, md, True, 10, 42, 7)
        assert (bytes(put.data), put.rlength, put.source.nid) == (b"hello", 5, node.nid)
        assert md.is_unlinked


def test_a_put_without_an_ack_ends_when_it_is_sent(node: liblnet.Node) -> None:
    with node.queue() as queue:
        assert node.put(queue, b"lost", SELF, portal=10, match_bits=1, ack=False).result(LONGEST).kind == EventKind.SEND


@pytest.mark.parametrize("memory", [bytearray(8), array.array("I", [0, 0]), memoryview(bytearray(16))[4:12], mmap.mmap(-1, 8)])
def test_a_get_fills_every_kind_of_memory(node: liblnet.Node, memory: "bytearray | memoryview") -> None:
    with node.queue() as queue, node.queue() as server:
        node.attach(server, b"0123456789", portal=9, match_bits=1, operations=Operations.GET, remote_offset=True)
        reply = node.get(queue, memory, SELF, portal=9, match_bits=1, offset=2).result(LONGEST)
        assert (reply.kind, bytes(reply.data)) == (EventKind.REPLY, b"23456789")
        get = server.wait(LONGEST)
        assert (get.kind, get.offset, bytes(get.data)) == (EventKind.GET, 2, b"23456789")
        assert bytes(memoryview(memory).cast("B")) == b"23456789"


def test_messages_lie_one_behind_the_other_until_the_memory_is_full(node: liblnet.Node) -> None:
    with node.queue() as sender, node.queue() as receiver:
        md = node.attach(receiver, bytearray(10), portal=10, match_bits=0, count=None, max_size=4)
        for text in (b"abc", b"defg"):
            node.put(sender, text, SELF, portal=10, match_bits=0).result(LONGEST)
        events = [receiver.wait(LONGEST) for _ in range(2)]
        assert [(bytes(event.data), event.offset, event.unlinked) for event in events] == [(b"abc", 0, False), (b"defg", 3, True)]
        assert md.is_unlinked


def test_a_long_message_is_cut_short_where_that_is_allowed(node: liblnet.Node) -> None:
    with node.queue() as sender, node.queue() as receiver:
        node.attach(receiver, bytearray(4), portal=10, match_bits=0, truncate=True)
        assert node.put(sender, b"too long", SELF, portal=10, match_bits=0).result(LONGEST).mlength == 4
        event = receiver.wait(LONGEST)
        assert (bytes(event.data), event.rlength) == (b"too ", 8)


def test_memory_keeps_its_size_and_lives_until_the_last_event(node: liblnet.Node) -> None:
    memory = bytearray(64)
    with node.queue() as sender, node.queue() as receiver:
        node.attach(receiver, memory, portal=10, match_bits=1)
        with pytest.raises(BufferError):
            memory.extend(b"more")
        # Nothing of the program refers to this memory.
        node.attach(receiver, bytearray(64), portal=10, match_bits=2)
        gc.collect()
        for bits in (1, 2):
            node.put(sender, b"hello", SELF, portal=10, match_bits=bits).result(LONGEST)
        for _ in range(2):
            assert bytes(receiver.wait(LONGEST).data) == b"hello"
    memory.extend(b"more")


def test_memory_is_the_programs_again_when_its_descriptor_is_unlinked(node: liblnet.Node) -> None:
    memory = bytearray(64)
    with node.queue() as queue:
        md = node.attach(queue, memory, portal=10, match_bits=1)
        md.unlink()
        md.unlink()
        assert not md.is_unlinked
        event = queue.wait(LONGEST)
        assert (event.kind, event.md, event.unlinked) == (EventKind.UNLINK, md, True)
        assert md.is_unlinked
        memory.clear()
        md.unlink()


def test_memory_is_the_programs_again_when_the_node_or_the_queue_is_closed() -> None:
    of_queue, of_node = bytearray(8), bytearray(8)
    with liblnet.Node("lo") as node:
        with node.queue() as queue:
            node.attach(queue, of_queue, portal=10, match_bits=1)
        of_queue.clear()
        node.attach(node.queue(), of_node, portal=10, match_bits=1)
    of_node.clear()


def test_a_second_node_is_the_same_and_the_network_stops_with_the_last() -> None:
    memory = bytearray(8)
    with liblnet.Node("lo") as first:
        second = liblnet.Node()
        second.attach(second.queue(), memory, portal=10, match_bits=1)
        second.close()
        second.close()
        memory.clear()
        assert first.nid == liblnet.Nid.LOOPBACK
        with pytest.raises(liblnet.LNetError, match="the network is down"):
            second.queue()


def test_two_queues_are_read_in_the_order_given_and_waits_keep_the_events_of_others(node: liblnet.Node) -> None:
    with node.queue() as first, node.queue() as second:
        for queue, bits in ((first, 1), (second, 2)):
            node.attach(queue, bytearray(8), portal=10, match_bits=bits)
        # The events of the attached memory come first, in the queue in which this waits for its own.
        node.put(second, b"2", SELF, portal=10, match_bits=2).result(LONGEST)
        node.put(first, b"1", SELF, portal=10, match_bits=1).result(LONGEST)
        read = [liblnet.poll([first, second], LONGEST) for _ in range(2)]
        assert [(found[0], bytes(found[1].data)) for found in read if found] == [(first, b"1"), (second, b"2")]
        assert liblnet.poll([first, second]) is None


def test_an_iteration_ends_when_the_queue_is_closed_by_another_thread(node: liblnet.Node) -> None:
    queue = node.queue()
    seen: list[EventKind] = []
    has_seen = threading.Event()

    def read() -> None:
        for event in queue:
            seen.append(event.kind)
            has_seen.set()

    node.attach(queue, bytearray(8), portal=10, match_bits=1)
    with node.queue() as sender:
        reader = threading.Thread(target=read)
        reader.start()
        node.put(sender, b"1", SELF, portal=10, match_bits=1).result(LONGEST)
        assert has_seen.wait(LONGEST)
    queue.close()
    queue.close()
    reader.join(LONGEST)
    assert (seen, reader.is_alive()) == ([EventKind.PUT], False)


def test_a_wait_without_events_ends_in_a_timeout(node: liblnet.Node) -> None:
    with node.queue() as queue:
        assert queue.poll() is None
        with pytest.raises(TimeoutError):
            queue.wait(0)
        node.set_lazy(20)
        waiting = node.put(queue, b"waits", SELF, portal=20, match_bits=1)
        with pytest.raises(TimeoutError):
            waiting.result(0)
        node.attach(queue, bytearray(8), portal=20, match_bits=1)
        assert waiting.result(LONGEST).mlength == 5
        node.set_lazy(20, lazy=False)


def test_memory_that_may_not_be_written_is_not_attached_for_puts(node: liblnet.Node, tmp_path: Path) -> None:
    with node.queue() as queue:
        with pytest.raises((BufferError, TypeError, ValueError)):
            node.attach(queue, b"constant", portal=10, match_bits=1)
        with pytest.raises((BufferError, TypeError, ValueError)):
            node.get(queue, b"constant", SELF, portal=10, match_bits=1)
        with pytest.raises(TypeError):
            node.put(queue, "a text", SELF, portal=10, match_bits=1)


def test_a_call_that_fails_leaves_nothing_behind(node: liblnet.Node) -> None:
    memory = bytearray(8)
    with node.queue() as queue:
        for portal, call in ((64, "LNetPut"), (99, "LNetPut")):
            with pytest.raises(liblnet.LNetError, match=f"{call}: no such portal") as raised:
                node.put(queue, memory, SELF, portal=portal, match_bits=1)
            assert raised.value.errno == errno.EINVAL
        with pytest.raises(liblnet.LNetError, match="LNetMEAttach: no such portal"):
            node.attach(queue, memory, portal=64, match_bits=1)
        with pytest.raises(liblnet.LNetError, match="LNetMDAttach: the memory is not described validly"):
            node.attach(queue, memory, portal=10, match_bits=1, max_size=9)
        assert queue.poll() is None
        memory.clear()
