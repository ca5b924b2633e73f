# SPDX-License-Identifier: MIT OR Apache-2.0
"""Requests and responses: a server that turns texts round, and a client that asks it.

    request_response.py serve                  (until Ctrl-C)
    request_response.py ask 127.0.1.2@tcp TEXT

The client attaches memory for the response before it sends the request, and says in hdr_data under which match bits.
"""

import itertools
import sys

import liblnet

REQUESTS, RESPONSES = 10, 11
LONGEST = 4096


def serve(node: liblnet.Node) -> None:
    """Answer requests, one after the other."""
    with node.queue() as requests, node.queue() as responses:
        # Two buffers: one takes requests while the other is full and its requests are answered.
        for buffer in (bytearray(64 * LONGEST), bytearray(64 * LONGEST)):
            attach(node, requests, buffer)
        print(node.nid, "is ready", flush=True)
        for event in requests:
            if event.kind == liblnet.EventKind.PUT and event.status == 0:
                answer = bytes(event.data)[::-1]
                put = node.put(responses, answer, event.source, portal=RESPONSES, match_bits=event.hdr_data, ack=False)
                try:
                    put.result()
                except liblnet.LNetError as error:
                    # That client has gone; the others have not.
                    print(f"{event.source.nid}: {error}", file=sys.stderr)
            if event.unlinked:
                attach(node, requests, event.md.buffer)


def attach(node: liblnet.Node, queue: liblnet.EventQueue, buffer: bytearray) -> None:
    """Let requests come, one behind the other, until the buffer is full."""
    node.attach(queue, buffer, portal=REQUESTS, match_bits=0, count=None, max_size=LONGEST)


def ask(node: liblnet.Node, server: str, texts: list[str]) -> None:
    """Send each text, and print its response."""
    numbers = itertools.count(1)
    with node.queue() as queue:
        for text in texts:
            number = next(numbers)
            response = node.attach(queue, bytearray(LONGEST), portal=RESPONSES, match_bits=number)
            node.put(queue, text.encode(), server, portal=REQUESTS, match_bits=0, hdr_data=number).result(timeout=60)
            event = queue.wait(timeout=60)
            assert event.md is response, event
            print(bytes(event.data).decode())


def main() -> None:
    """Do what the arguments say."""
    with liblnet.Node() as node:
        match sys.argv[1:]:
            case ["serve"]:
                serve(node)
            case ["ask", server, *texts] if texts:
                ask(node, server, texts)
            case _:
                sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
    except (liblnet.LNetError, TimeoutError, ValueError) as error:
        sys.exit(str(error))
