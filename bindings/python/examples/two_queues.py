# SPDX-License-Identifier: MIT OR Apache-2.0
"""Two queues: urgent messages are read before all others, however many of those wait.

    two_queues.py serve COUNT                  (until it has that many messages)
    two_queues.py send 127.0.1.2@tcp COUNT     (every tenth is urgent)

Two queues that one call reads, in the order in which they are given.
"""

import sys

import liblnet

PORTAL = 13
URGENT, ORDINARY = 1, 2


def serve(node: liblnet.Node, count: int) -> None:
    """Print messages, the urgent ones first."""
    with node.queue(1024) as urgent, node.queue(1024) as ordinary:
        for queue, bits in ((urgent, URGENT), (ordinary, ORDINARY)):
            node.attach(queue, bytearray(1 << 20), portal=PORTAL, match_bits=bits, count=None)
        print(node.nid, "is ready", flush=True)
        for _ in range(count):
            # The first queue that has an event.
            found = liblnet.poll([urgent, ordinary], timeout=60)
            if found is None:
                raise TimeoutError("no message in 60 s")
            queue, event = found
            print("urgent" if queue is urgent else "ordinary", bytes(event.check().data).decode())


def send(node: liblnet.Node, server: str, count: int) -> None:
    """Send messages, and wait until the server has all of them."""
    with node.queue(4 * count) as queue:
        transfers = [
            node.put(
                queue,
                f"message {number}".encode(),
                server,
                portal=PORTAL,
                match_bits=ORDINARY if number % 10 else URGENT,
            )
            for number in range(1, count + 1)
        ]
        for transfer in transfers:
            transfer.result(timeout=60)
    print(count, "messages taken")


def main() -> None:
    """Do what the arguments say."""
    with liblnet.Node() as node:
        match sys.argv[1:]:
            case ["serve", count]:
                serve(node, int(count))
            case ["send", server, count]:
                send(node, server, int(count))
            case _:
                sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
    except (liblnet.LNetError, TimeoutError, ValueError) as error:
        sys.exit(str(error))
