# SPDX-License-Identifier: MIT OR Apache-2.0
"""A file over GET: the server attaches the file's memory, and clients fetch it from there; the server does nothing meanwhile.

    file_over_get.py serve FILE                (until Ctrl-C)
    file_over_get.py fetch 127.0.1.2@tcp FILE

Several GETs are under way at a time, each for one piece of the longest message.
"""

import mmap
import sys
from collections import deque
from pathlib import Path

import liblnet

PORTAL = 12
LENGTH, CONTENT = 1, 2
IN_FLIGHT = 8


def serve(node: liblnet.Node, path: Path) -> None:
    """Let clients read the length and the content of a file."""
    length = path.stat().st_size
    with node.queue() as queue, path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if length else b""
        for bits, memory in ((LENGTH, length.to_bytes(8, "little")), (CONTENT, content)):
            node.attach(
                queue,
                memory,
                portal=PORTAL,
                match_bits=bits,
                operations=liblnet.Operations.GET,
                count=None,
                remote_offset=True,
            )
        print(node.nid, "is ready", flush=True)
        for event in queue:
            # A client that ends at once may reset the connection before the transport knows that it has the data.
            if event.status < 0:
                print(f"{event.source.nid}: {liblnet.LNetError(None, event.status)}", file=sys.stderr)


def fetch(node: liblnet.Node, server: str, path: Path) -> None:
    """Fetch the file in pieces of the longest message, several at a time."""
    with node.queue() as queue:

        def get(memory: bytearray | memoryview, bits: int, offset: int) -> liblnet.Transfer:
            return node.get(queue, memory, server, portal=PORTAL, match_bits=bits, offset=offset)

        length = bytearray(8)
        get(length, LENGTH, 0).result(timeout=60)
        content = bytearray(int.from_bytes(length, "little"))
        under_way: deque[liblnet.Transfer] = deque()
        for offset in range(0, len(content), liblnet.MTU):
            if len(under_way) == IN_FLIGHT:
                under_way.popleft().result(timeout=60)
            under_way.append(get(memoryview(content)[offset : offset + liblnet.MTU], CONTENT, offset))
        for transfer in under_way:
            transfer.result(timeout=60)
    path.write_bytes(content)
    print(len(content), "bytes")


def main() -> None:
    """Do what the arguments say."""
    with liblnet.Node() as node:
        match sys.argv[1:]:
            case ["serve", path]:
                serve(node, Path(path))
            case ["fetch", server, path]:
                fetch(node, server, Path(path))
            case _:
                sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
    except (liblnet.LNetError, TimeoutError, ValueError, OSError) as error:
        sys.exit(str(error))
