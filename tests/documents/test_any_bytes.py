"""Any bytes under any extension: text, or the documented failure, and within the limits."""

from __future__ import annotations

import io
import random
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat.documents import (
    EXTENSIONS,
    DocumentError,
    FileFailed,
    FileRead,
    Limits,
    Piece,
    Source,
    read_files,
    read_source,
)
from tests.documents.make_corpus import zipped

LIMITS = Limits(seconds=20, unpacked_bytes=20_000_000, memory_bytes=600_000_000)
STARTS = (
    *(
        b"",
        b"%PDF-1.4\n",
        b"PK\x03\x04",
        b'{"messages": [',
        b'{"cells": [',
        b"From x\nSubject: ",
        b"1",
    ),
    *(
        b"1\n00:00:01,000 --> ",
        b"<html>",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"Content-Type: multipart/",
    ),
)
MEMBERS = (
    *("content.xml", "META-INF/container.xml", "META-INF/manifest.xml", "[Content_Types].xml"),
    *("a.txt", "b.zip", "c.json", "word/document.xml", "_rels/.rels"),
)
extensions = st.sampled_from(sorted(EXTENSIONS))
anything = st.builds(bytes.__add__, st.sampled_from(STARTS), st.binary(max_size=300))
words = st.builds(str.encode, st.text(max_size=100))


def read_or_refuse(name: str, content: bytes) -> None:
    """Reads a file and checks what must hold of whatever comes of it."""
    try:
        for document in read_source(Source(name, io.BytesIO(content), LIMITS)):
            assert document.text and not document.text.isspace()
            assert "\r" not in document.text and "\0" not in document.text
            document.text.encode()
            document.title.encode()
            assert document.title and "\n" not in document.title
    except DocumentError as error:
        assert error.reason and "\n" not in str(error)


@settings(max_examples=300, deadline=None)
@given(extensions, anything | words)
def test_any_bytes_give_text_or_a_reason(extension: str, content: bytes) -> None:
    read_or_refuse(f"x{extension}", content)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([".zip", ".docx", ".odt", ".epub"]),
    st.dictionaries(st.sampled_from(MEMBERS), anything | words, max_size=4),
)
def test_any_bytes_in_an_archive_give_text_or_a_reason(
    extension: str, members: dict[str, bytes]
) -> None:
    read_or_refuse(f"x{extension}", zipped(dict(members)))


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_any_place_to_cut_a_good_file_gives_text_or_a_reason(
    corpus: Path, data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from(sorted(corpus.iterdir())))
    content = path.read_bytes()[:20_000]
    read_or_refuse(path.name, content[: data.draw(st.integers(0, len(content)))])


def test_damaged_files_end_within_the_limits_and_hurt_no_other(
    corpus: Path, tmp_path: Path
) -> None:
    chance = random.Random(11)
    paths = []
    for number, original in enumerate(sorted(corpus.iterdir()) * 2):
        content = bytearray(original.read_bytes()[:50_000])
        for _ in range(chance.randrange(1, 12)):
            place = chance.randrange(len(content))
            content[place] = chance.choice((0x20, 0xFF, chance.randrange(32, 256)))
            if chance.random() < 0.2:
                del content[place : place + chance.randrange(1, 50)]
                content += b" "
        path = tmp_path / f"{number} {original.name}"
        path.write_bytes(content)
        paths.append(path)
    last = [event for event in read_files(paths, LIMITS) if not isinstance(event, Piece)]
    assert sorted(event.path for event in last) == sorted(paths)
    read = sum(isinstance(event, FileRead) for event in last)
    failures = [event.reason for event in last if isinstance(event, FileFailed)]
    assert read + len(failures) == len(paths) and read > len(paths) // 4
    assert not [reason for reason in failures if "took longer" in reason or "crashed" in reason]
