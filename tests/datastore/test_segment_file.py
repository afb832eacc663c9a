"""Segment files: they come back whole, and no damage goes unseen."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat.datastore.segment import Segment
from sssd_chat.datastore.segment_file import (
    DamagedSegment,
    check_body,
    open_segment,
    write_segment,
)
from tests.datastore.truth import ALPHABETS, document, token_lists

same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def path(folder: Path) -> Path:
    return folder.with_name("00000001.segment")


@pytest.fixture
def content(path: Path) -> bytes:
    write_segment(path, Segment.of("chats", [document("a", [1, 2, 70_000, 1]), document("ü", [])]))
    return path.read_bytes()


def read_all(path: Path) -> None:
    open_segment(path, "chats")
    check_body(path)


@same_folder
@given(st.lists(token_lists(ALPHABETS[2]), min_size=1, max_size=5))
def test_a_segment_comes_back(path: Path, texts: list[list[int]]) -> None:
    segment = Segment.of("chats", [document(f"“{at}”", text) for at, text in enumerate(texts)])
    write_segment(path, segment)
    read = open_segment(path, "chats")
    check_body(path)
    assert read.check_integrity() is None
    assert [(each.label, each.tokens.tolist()) for each in read.documents()] == [
        (each.label, each.tokens.tolist()) for each in segment.documents()
    ]
    assert read.order.tolist() == segment.order.tolist()
    assert (read.collection, read.file, read.memory_bytes) == ("chats", path.name, 0)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_every_flipped_byte_is_seen(path: Path, content: bytes, mask: int) -> None:
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= mask
        path.write_bytes(damaged)
        with pytest.raises(DamagedSegment):
            read_all(path)
        with pytest.raises(DamagedSegment):
            check_body(path)


def test_every_truncation_and_every_addition_is_seen(path: Path, content: bytes) -> None:
    for size in range(len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(DamagedSegment):
            open_segment(path, "chats")
        with pytest.raises(DamagedSegment):
            check_body(path)
    path.write_bytes(content + b"\0")
    with pytest.raises(DamagedSegment, match="longer"):
        read_all(path)


@same_folder
@given(st.binary(max_size=200), st.booleans())
def test_no_content_is_taken_for_a_segment(
    path: Path, content: bytes, noise: bytes, is_start: bool
) -> None:
    path.write_bytes(content[:64] + noise if is_start else noise)
    if path.read_bytes() != content:
        with pytest.raises(DamagedSegment):
            read_all(path)
