# SPDX-License-Identifier: MIT OR Apache-2.0
"""The program of the README and the examples, each as two processes."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import LONGEST

HERE = Path(__file__).parents[1]
SERVER, CLIENT = "127.0.1.2", "127.0.1.1"
# That of an environment in which the wheel was installed, and nothing else.
PYTHON = os.environ.get("FRESH_PYTHON", sys.executable)


def environment(address: str) -> dict[str, str]:
    return {**os.environ, "LNET_NETWORKS": f"tcp({address})"}


@contextmanager
def serving(*command: "str | Path") -> Iterator["subprocess.Popen[str]"]:
    """Run a server, from its first line of output on."""
    with subprocess.Popen([PYTHON, *command], env=environment(SERVER), stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() in (f"{SERVER}@tcp is ready\n", f"{SERVER}@tcp is waiting\n")
            yield server
        finally:
            server.kill()


def run(*command: "str | Path") -> str:
    """Return the output of a client."""
    client = [PYTHON, *command]
    done = subprocess.run(client, env=environment(CLIENT), capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rest(server: "subprocess.Popen[str]") -> str:
    """Return the further output of a server that ends by itself."""
    output, _ = server.communicate(timeout=LONGEST)
    assert server.returncode == 0
    return output


def interrupted(server: "subprocess.Popen[str]") -> str:
    """Press Ctrl-C, and return the further output."""
    server.send_signal(signal.SIGINT)
    return rest(server)


@pytest.mark.parametrize("readme", ["README.md", "../../README.md"])
def test_the_programs_of_the_readmes_exchange_a_message(tmp_path: Path, readme: str) -> None:
    found = re.search(r"```python\n(.*?)```\n", (HERE / readme).read_text(), re.DOTALL)
    assert found
    program = tmp_path / "hello.py"
    program.write_text(found.group(1))
    with serving(program) as server:
        assert run(program, f"{SERVER}@tcp") == "17 bytes taken\n"
        assert rest(server) == f"{CLIENT}@tcp: hello from Python\n"


def test_requests_have_their_responses() -> None:
    program = HERE / "examples/request_response.py"
    with serving(program, "serve") as server:
        assert run(program, "ask", f"{SERVER}@tcp", "hello", "LNet") == "olleh\nteNL\n"
        assert run(program, "ask", f"{SERVER}@tcp", *["x" * 4000] * 200).count("\n") == 200
        assert interrupted(server) == ""


@pytest.mark.parametrize("length", [0, 1, 1 << 20, (10 << 20) + 17])
def test_a_file_is_fetched(tmp_path: Path, length: int) -> None:
    program = HERE / "examples/file_over_get.py"
    there, here = tmp_path / "there", tmp_path / "here"
    there.write_bytes(os.urandom(length))
    with serving(program, "serve", there) as server:
        assert run(program, "fetch", f"{SERVER}@tcp", here) == f"{length} bytes\n"
        assert here.read_bytes() == there.read_bytes()
        assert interrupted(server) == ""


def test_messages_come_in_two_queues() -> None:
    program = HERE / "examples/two_queues.py"
    with serving(program, "serve", "50") as server:
        assert run(program, "send", f"{SERVER}@tcp", "50") == "50 messages taken\n"
        lines = rest(server).splitlines()
    assert sorted(lines) == sorted(f"{'ordinary' if number % 10 else 'urgent'} message {number}" for number in range(1, 51))


@pytest.mark.parametrize("name", ["request_response", "file_over_get", "two_queues"])
def test_an_example_says_how_it_is_called(name: str) -> None:
    done = subprocess.run([PYTHON, HERE / f"examples/{name}.py"], env=environment(CLIENT), capture_output=True, text=True)
    assert (done.returncode, f"{name}.py serve" in done.stderr) == (1, True)


def test_a_program_that_closes_nothing_ends_all_the_same() -> None:
    program = "import liblnet; node = liblnet.Node(); node.attach(node.queue(), bytearray(9), portal=1, match_bits=1); print(node.nid)"
    assert run("-c", program) == f"{CLIENT}@tcp\n"


def test_a_child_of_fork_has_no_node_and_ends() -> None:
    program = """
import os, liblnet
with liblnet.Node() as node, node.queue() as queue:
    if os.fork() == 0:
        try:
            node.put(queue, b"hello", node.nid, portal=1, match_bits=1)
        except liblnet.LNetError as error:
            print(error.strerror.split(":")[0], flush=True)
    else:
        print("child", os.wait()[1], flush=True)
"""
    assert run("-c", program) == "the network is down\nchild 0\n"
