"""Opening: only regular files, and a hash that tells whether the content is new."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from sssd_chat.documents import DocumentError, hash_file
from sssd_chat.documents.opening import open_regular


def test_hash_is_that_of_the_bytes_under_any_name(tmp_path: Path) -> None:
    content = os.urandom(300_000)
    (tmp_path / "a").write_bytes(content)
    (tmp_path / "b.txt").write_bytes(content)
    expected = hashlib.sha256(content).hexdigest()
    assert hash_file(tmp_path / "a") == hash_file(tmp_path / "b.txt") == expected


def test_what_is_not_a_regular_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, words in (
        (tmp_path / "pipe", "is a named pipe, not a file to read"),
        (Path(os.devnull), "is a device, not a file to read"),
        (tmp_path, "is a folder, not a file to read"),
        (tmp_path / "no", "does not exist, or no longer"),
        (Path("a\0b"), "cannot be read: embedded null byte"),
    ):
        with pytest.raises(DocumentError) as caught:
            hash_file(path)
        assert caught.value.reason == words


def test_file_that_becomes_a_pipe_after_the_look_does_not_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.txt"
    path.write_text("text")
    status = path.stat()
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(Path, "stat", lambda self: status)
    with pytest.raises(DocumentError, match="is a named pipe"):
        open_regular(path)
