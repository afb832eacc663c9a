"""Servers of llama.cpp are tried before they are handed over."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sssd_chat.errors import UsageError, UserError
from sssd_chat.generation.loading import EngineSettings, load_engine
from sssd_chat.llama import rpc
from sssd_chat.llama.rpc import add_servers, parse
from tests.tiny_models import tiny_model


class Registry:
    """A build that can, and keeps what it is given."""

    def __init__(self, accepts: bool = True) -> None:
        self.added: list[str] = []
        self.accepts = accepts

    def add_server(self) -> Callable[[str], bool]:
        def add(address: str) -> bool:
            self.added.append(address)
            return self.accepts

        return add


HELLO = struct.pack("<QBBBB24x", 28, 7, 0, 0, 0)
"""What an rpc-server of this version answers to a greeting."""


@contextlib.contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """The address of something that gives everybody the same answer."""

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection:
                    greeting = connection.recv(64)
                    assert greeting[0] == 14 and len(greeting) == 33
                    connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        # What waits in accept() is woken, or it would keep the port.
        listening.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def server() -> Iterator[str]:
    with answering(HELLO) as address:
        yield address


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"127.0.0.1:{listening.getsockname()[1]}"


def test_servers_that_answer_are_added_once(server: str) -> None:
    registry, known = Registry(), set[str]()
    add_servers([server, server], registry, known)
    add_servers([server], registry, known)
    assert registry.added == [server] and known == {server}
    add_servers([], registry, known)


def test_a_server_that_does_not_answer_is_never_handed_over(server: str) -> None:
    registry, known = Registry(), set[str]()
    address = closed_port()
    with pytest.raises(UserError) as refused:
        add_servers([server, address], registry, known)
    assert f"The server {address} of model.rpc_servers does not answer: " in str(refused.value)
    assert "refused" in str(refused.value) and refused.value.exit_code == 1
    assert registry.added == [] and known == set()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        HELLO[:9],
        struct.pack("<QBBBB24x", 28, 8, 0, 0, 0),
        struct.pack("<QBBBB24x", 28, 7, 1, 0, 0),
        struct.pack("<QBBB", 3, 2, 0, 0),
    ],
)
def test_what_is_no_server_of_this_version_is_never_handed_over(answer: bytes) -> None:
    registry = Registry()
    with answering(answer) as address, pytest.raises(UserError) as refused:
        add_servers([address], registry, set())
    assert f"What answers at {address} of model.rpc_servers is no rpc-server" in str(refused.value)
    assert registry.added == []


def test_a_server_that_is_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is busy with another program takes connections, and says nothing."""
    monkeypatch.setattr(rpc, "_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(UserError, match="does not answer: timed out"):
            add_servers([address], Registry(), set())


def test_a_server_without_devices_is_told(server: str) -> None:
    known = set[str]()
    with pytest.raises(UserError, match="offers no device"):
        add_servers([server], Registry(accepts=False), known)
    assert known == set()


@pytest.mark.parametrize(
    "address",
    [
        "",
        "host",
        "host:",
        ":50052",
        "host:0",
        "host:65536",
        "host:port",
        "a b:1",
        "http://h:1",
        "::1:2",
        "[::1]:2",
    ],
)
def test_what_is_no_address_is_told(address: str) -> None:
    with pytest.raises(UsageError) as refused:
        add_servers([address], Registry(), set())
    assert f"holds '{address}'; a server is HOST:PORT" in str(refused.value)


def test_addresses() -> None:
    assert parse("gpu-box.local:50052") == ("gpu-box.local", 50052)


def test_a_build_without_the_backend_says_so(models: Path, server: str) -> None:
    """The build of the tests has none."""
    settings = EngineSettings(tiny_model(models), 64, threads=1, rpc_servers=(server,))
    with pytest.raises(UsageError, match="has no RPC backend: build llama-cpp-python with"):
        load_engine(settings)
