"""Who may ask: keys, and what scripts of web pages must not do."""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from sssd_chat.conversation.completions.refusal import RequestRefused
from sssd_chat.errors import UserError, reason

ANYBODY = "local"
"""The name of whoever asks a server without keys."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key, and what it is good for."""

    name: str
    """How it is called in the datastore: what it asked is learned under this name."""
    secret: str = field(repr=False)
    learns: bool = False
    """Whether answers to it may join the datastore."""


def read_keys(path: Path) -> list[ApiKey]:
    """The keys of a file, one a line: `KEY` or `NAME:KEY`, with the word `learn` behind it for
    those whose answers may be learned; lines that begin with # are comments. Raises UserError,
    naming file and line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"The keys in {path} cannot be read: {reason(error, path)}.") from error
    keys = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if words and not words[0].startswith("#"):
            keys.append(_key(words, number, f"{path}, line {number}"))
    if not keys:
        raise UserError(f"{path} holds no keys.")
    names = [key.name for key in keys]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{path} has two keys of the name {name}.")
    return keys


def _key(words: Sequence[str], number: int, place: str) -> ApiKey:
    if words[1:] not in ([], ["learn"]):
        raise UserError(f"{place}: after the key only the word learn may stand.")
    name, colon, secret = words[0].partition(":")
    if not colon:
        name, secret = f"key{number}", words[0]
    if not _NAME.fullmatch(name):
        raise UserError(f"{place}: a name is made of letters, digits, '-', '_' and '.'.")
    if not secret:
        raise UserError(f"{place}: the key is empty.")
    return ApiKey(name, secret, learns=len(words) > 1)


class Access:
    """Decides who may ask."""

    def __init__(self, keys: Sequence[ApiKey], origin: str | None, hosts_checked: bool) -> None:
        """`origin` is the web page whose scripts may ask, "*" any one. With `hosts_checked` a
        request must name this machine as its address, as those of its own programs do."""
        self._keys = [(key, _digest(key.secret)) for key in keys]
        self._origin = origin
        self._hosts_checked = hosts_checked

    def caller(self, headers: Mapping[str, str]) -> ApiKey:
        """Who asks. Raises RequestRefused (401, 403)."""
        self._check_page(headers)
        if not self._keys:
            return ApiKey(ANYBODY, "", learns=True)
        given = headers.get("authorization", "")
        kind, _, secret = given.partition(" ")
        if kind.lower() != "bearer" or not secret.strip():
            raise _unauthorized("You didn't provide an API key: send it as a Bearer token.")
        digest = _digest(secret.strip())
        # Every key is compared, whether or not one was found, so that time tells nothing.
        found = [key for key, own in self._keys if hmac.compare_digest(own, digest)]
        if not found:
            raise _unauthorized("Incorrect API key provided.")
        return found[0]

    def _check_page(self, headers: Mapping[str, str]) -> None:
        """Any web page that is looked at on this machine can send requests to it, and one that
        changes the address of its own name can even read the answers."""
        origin = headers.get("origin")
        if origin is not None and self._origin not in ("*", origin):
            raise RequestRefused(
                "Scripts of web pages may not ask this server; see --cors.",
                kind="permission_error",
                code="origin_not_allowed",
                status=403,
            )
        if self._hosts_checked and not _names_this_machine(headers.get("host", "")):
            raise RequestRefused(
                "This server answers requests to localhost alone.",
                kind="permission_error",
                code="host_not_allowed",
                status=403,
            )


def is_loopback(host: str) -> bool:
    """Whether a host name or an address is that of this machine for itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _names_this_machine(host: str) -> bool:
    name = host if host.endswith("]") else re.sub(r":\d*$", "", host)
    return is_loopback(name)


def _digest(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _unauthorized(message: str) -> RequestRefused:
    return RequestRefused(message, kind="authentication_error", code="invalid_api_key", status=401)
