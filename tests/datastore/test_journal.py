"""The journal: every record comes back, a cut one is dropped, a damaged one is told."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from sssd_chat.datastore.journal import JournalEntry, JournalWriter, as_bytes, read_journal
from tests.datastore.truth import LARGEST, document

ENTRIES = [
    JournalEntry("chats", document("first", [1, 2, LARGEST])),
    JournalEntry("starter/ü", document("“second”", [])),
    JournalEntry("chats", document("third", [70_000] * 5)),
]


def plain(entries: list[JournalEntry]) -> list[tuple[object, ...]]:
    return [
        (each.collection, each.document.label, each.document.tokens.tolist()) for each in entries
    ]


@pytest.fixture
def path(folder: Path) -> Path:
    return folder.with_name("00000000.journal")


def filled(path: Path) -> list[int]:
    """Writes the entries; returns the length of the file after each."""
    writer = JournalWriter(path, 0)
    lengths = [0]
    for entry in ENTRIES:
        writer.append(entry)
        lengths.append(path.stat().st_size)
    writer.close()
    assert path.read_bytes() == b"".join(as_bytes(ENTRIES))
    return lengths


def test_what_is_appended_is_read(path: Path) -> None:
    lengths = filled(path)
    content = read_journal(path)
    assert plain(content.entries) == plain(ENTRIES)
    assert (content.length, content.damage) == (lengths[-1], "")


def test_a_missing_journal_is_empty(path: Path) -> None:
    assert read_journal(path).entries == []


def test_a_cut_journal_goes_on_after_its_last_whole_record(path: Path) -> None:
    lengths = filled(path)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        content = read_journal(path)
        count = sum(0 < length <= size for length in lengths)
        assert plain(content.entries) == plain(ENTRIES[:count])
        assert content.damage == ""
        writer = JournalWriter(path, content.length)
        writer.append(ENTRIES[2])
        writer.close()
        assert plain(read_journal(path).entries) == plain([*ENTRIES[:count], ENTRIES[2]])


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_every_flipped_byte_is_seen(path: Path, mask: int) -> None:
    lengths = filled(path)
    whole = path.read_bytes()
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= mask
        path.write_bytes(damaged)
        content = read_journal(path)
        count = sum(0 < length <= at for length in lengths)
        assert content.damage
        assert plain(content.entries) == plain(ENTRIES[:count])


def test_a_record_that_could_not_be_removed_is_removed_before_the_next(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    real = os.write
    writer = JournalWriter(path, 0)
    writer.append(ENTRIES[0])
    kept = path.stat().st_size
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", fail)
        patch.setattr(os, "write", lambda handle, rest: real(handle, rest[:3]) and fail())
        with pytest.raises(OSError, match="No space"):
            writer.append(ENTRIES[1])
        assert path.stat().st_size > kept
        with pytest.raises(OSError, match="No space"):
            writer.append(ENTRIES[1])
    writer.append(ENTRIES[2])
    writer.close()
    assert plain(read_journal(path).entries) == plain([ENTRIES[0], ENTRIES[2]])
