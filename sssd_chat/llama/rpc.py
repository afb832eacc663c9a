"""Other machines that take layers of a model: servers of llama.cpp's RPC backend.

llama.cpp ends the process when a server cannot be reached, or is none of its own version, so each
is greeted before it is handed over (negotiate_hello in ggml-rpc.cpp).
"""

from __future__ import annotations

import ctypes
import re
import socket
import struct
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from sssd_chat.errors import UsageError, UserError, reason
from sssd_chat.llama.runtime import api

_SECONDS = 3.0
"""A server in the same network answers in milliseconds."""
# llama.cpp cuts at the first colon, so an IPv6 address cannot be given.
_ADDRESS = re.compile(r"(?P<host>[^\s:/\[\]]+):(?P<port>[0-9]{1,5})")
_BACKEND = b"RPC"
_ADD = b"ggml_backend_rpc_add_server"

_HELLO = struct.pack("<BQ24x", 14, 24)
"""The greeting: its number, which never changes, and 24 bytes about the connection, here none."""
_ANSWER = struct.Struct("<QBB")
"""The beginning of the answer: its size, and the version of the protocol."""
_ANSWER_SIZE, _VERSION = 28, (7, 0)

_added: set[str] = set()


class Registry(Protocol):
    """The backends of llama.cpp, as far as servers are concerned."""

    def add_server(self) -> Callable[[str], bool] | None:
        """What adds a server by its address, and tells whether it took one; None in a build
        without the RPC backend."""


def add_servers(
    addresses: Iterable[str], registry: Registry | None = None, known: set[str] = _added
) -> None:
    """Makes the servers devices of this process, those left out that are already. `known` are the
    latter.

    Raises UsageError for an address that is none or a build that cannot, UserError for a server
    that does not answer.
    """
    new = [address for address in dict.fromkeys(addresses) if address not in known]
    places = [parse(address) for address in new]
    if not new:
        return
    add = (registry or _Library()).add_server()
    if add is None:
        raise UsageError(
            "model.rpc_servers names servers, and this build of llama.cpp has no RPC backend: "
            'build llama-cpp-python with CMAKE_ARGS="-DGGML_RPC=on", or take the setting out.'
        )
    for address, place in zip(new, places, strict=True):
        _try(address, place)
    for address in new:
        if not add(address):
            raise UserError(f"The server {address} of model.rpc_servers offers no device.")
        known.add(address)


def parse(address: str) -> tuple[str, int]:
    """Host and port of HOST:PORT. Raises UsageError."""
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) < 1 << 16:
        raise UsageError(f"model.rpc_servers holds '{address}'; a server is HOST:PORT.")
    return match["host"], int(match["port"])


def _try(address: str, place: tuple[str, int]) -> None:
    try:
        with socket.create_connection(place, _SECONDS) as connection:
            connection.sendall(_HELLO)
            with connection.makefile("rb") as stream:
                answer = stream.read(_ANSWER.size)
    except (OSError, UnicodeError) as error:
        why = "timed out" if isinstance(error, TimeoutError) else reason(error)
        raise UserError(
            f"The server {address} of model.rpc_servers does not answer: {why.lower()}."
        ) from error
    if not _is_same_version(answer):
        raise UserError(
            f"What answers at {address} of model.rpc_servers is no rpc-server of this version of "
            "llama.cpp: start one that was built from the same sources."
        )


def _is_same_version(answer: bytes) -> bool:
    if len(answer) != _ANSWER.size:
        return False
    size, major, minor = _ANSWER.unpack(answer)
    return bool(size == _ANSWER_SIZE and major == _VERSION[0] and minor <= _VERSION[1])


class _Library:
    """That of the build which is loaded."""

    def add_server(self) -> Callable[[str], bool] | None:
        lib = api()._lib
        function = _declared(lib, "ggml_backend_reg_by_name", ctypes.c_void_p, [ctypes.c_char_p])
        backend = function(_BACKEND) if function is not None else None
        if not backend:
            return None
        find = _declared(
            lib,
            "ggml_backend_reg_get_proc_address",
            ctypes.c_void_p,
            [ctypes.c_void_p, ctypes.c_char_p],
        )
        register = _declared(lib, "ggml_backend_register", None, [ctypes.c_void_p])
        address = find(backend, _ADD) if find is not None else None
        if not address or register is None:
            return None
        add = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)(address)

        def add_and_register(endpoint: str) -> bool:
            server = add(endpoint.encode())
            if server:
                register(server)
            return bool(server)

        return add_and_register


def _declared(lib: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    """A function with its types; None where the library lacks it."""
    function = getattr(lib, name, None)
    if function is not None:
        function.restype, function.argtypes = result, arguments
    return function
