"""Who may ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from sssd_chat.conversation.completions.refusal import RequestRefused
from sssd_chat.errors import UserError
from sssd_chat.server.access import Access, ApiKey, is_loopback, read_keys
from sssd_chat.server.running import listen
from sssd_chat.server.settings import ServerSettings


def test_keys_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("# keys\n\nann:s1:with-colon learn\n  plain-secret  \n")
    assert read_keys(path) == [
        ApiKey("ann", "s1:with-colon", learns=True),
        ApiKey("key4", "plain-secret"),
    ]
    assert "plain-secret" not in repr(read_keys(path))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "no keys"),
        ("a:b c", "line 1"),
        ("ok:k\n:secret", "line 2"),
        ("a:", "empty"),
        ("../x:k", "name"),
        ("a:k1\na:k2", "two keys"),
    ],
)
def test_files_of_keys_that_are_wrong(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "keys"
    path.write_text(content)
    with pytest.raises(UserError, match=said):
        read_keys(path)
    with pytest.raises(UserError, match="cannot be read"):
        read_keys(tmp_path / "missing")


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("Bearer k1", "a"),
        ("bearer  k2 ", "b"),
        ("k1", None),
        ("Bearer", None),
        ("Bearer k3", None),
        ("Bearer a:k1", None),
        ("Basic k1", None),
        ("Bearer k\u00e4", None),
    ],
)
def test_a_key_lets_its_owner_in(given: str, name: str | None) -> None:
    access = Access([ApiKey("a", "k1"), ApiKey("b", "k2")], None, hosts_checked=False)
    if name is not None:
        assert access.caller({"authorization": given}).name == name
        return
    with pytest.raises(RequestRefused) as refused:
        access.caller({"authorization": given})
    assert refused.value.status == 401


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost:80", True),
        ("127.0.0.1:8080", True),
        ("[::1]:8080", True),
        ("[::1]", True),
        ("example.org", False),
        ("127.0.0.1.example.org", False),
        ("192.168.0.1:80", False),
        ("", False),
    ],
)
def test_without_keys_this_machine_alone_is_answered(host: str, allowed: bool) -> None:
    access = Access([], None, hosts_checked=True)
    if allowed:
        assert access.caller({"host": host}).learns
        return
    with pytest.raises(RequestRefused) as refused:
        access.caller({"host": host})
    assert refused.value.status == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.org", ""])
def test_another_address_needs_a_key(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(UserError, match="API key"):
        listen(ServerSettings(host))


def test_an_address_that_is_taken() -> None:
    with listen(ServerSettings(port=0)) as first:
        port = first.getsockname()[1]
        with pytest.raises(UserError, match=f"Cannot listen on 127.0.0.1, port {port}"):
            listen(ServerSettings(port=port))


@pytest.mark.parametrize(
    ("allowed", "origin", "is_let_in"),
    [
        (None, None, True),
        (None, "https://a.org", False),
        ("https://a.org", "https://a.org", True),
        ("https://a.org", "https://a.org.evil.org", False),
        ("*", "https://b.org", True),
    ],
)
def test_one_web_page_may_be_let_in(
    allowed: str | None, origin: str | None, is_let_in: bool
) -> None:
    access = Access([], allowed, hosts_checked=False)
    headers = {} if origin is None else {"origin": origin}
    if is_let_in:
        access.caller(headers)
        return
    with pytest.raises(RequestRefused) as refused:
        access.caller(headers)
    assert refused.value.status == 403
