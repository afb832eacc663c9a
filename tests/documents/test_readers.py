"""Every reader on the corpus: the expected text of good files, one sentence about broken ones."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from sssd_chat.documents import (
    EXTENSIONS,
    FORMATS,
    Document,
    DocumentError,
    Limits,
    Source,
    format_of,
    read_source,
)
from sssd_chat.documents.document import PART_CHARACTERS
from tests.documents.expected import BIG, BROKEN, GOOD, NOTES, VERBATIM
from tests.documents.make_corpus import zipped


def read(name: str, content: bytes, limits: Limits | None = None) -> list[Document]:
    return list(read_source(Source(name, io.BytesIO(content), limits or Limits())))


def reason(name: str, content: bytes, limits: Limits | None = None) -> str:
    with pytest.raises(DocumentError) as caught:
        read(name, content, limits)
    sentence = str(caught.value)
    assert "\n" not in sentence and sentence == f"The file {caught.value.reason}."
    return caught.value.reason


def test_corpus_is_what_is_expected_and_covers_every_format(corpus: Path) -> None:
    names = {path.name for path in corpus.iterdir()}
    assert names == {*GOOD, *VERBATIM, *BROKEN, *BIG}
    assert len(names) >= 60
    for format_ in FORMATS:
        assert any(format_of(name) == format_ for name in (*GOOD, *VERBATIM)), format_.name
    read_verbatim = {"plain", "web_page"}  # any text at all is good for these
    for format_ in FORMATS:
        if format_.module not in read_verbatim | {"delimited", "latex"}:
            module = format_.module
            assert any(format_of(name).module == module for name in BROKEN), format_.name


@pytest.mark.parametrize("name", [*GOOD, *VERBATIM])
def test_good_file_gives_its_text(corpus: Path, name: str) -> None:
    content = (corpus / name).read_bytes()
    source = Source(name, io.BytesIO(content))
    documents = list(read_source(source))
    found = [(document.title, document.text) for document in documents]
    assert found == (GOOD[name] if name in GOOD else [(name, content.decode())])
    notes = source.notes + [note for document in documents for note in document.notes]
    assert notes == NOTES.get(name, [])


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file_gives_its_reason(corpus: Path, name: str) -> None:
    assert reason(name, (corpus / name).read_bytes()) == BROKEN[name]


def test_extensions_are_told_apart_without_regard_to_case() -> None:
    assert format_of("REPORT.PDF").name == "PDF"
    assert format_of("a.b/c.Md").name == "Markdown"
    assert format_of("no extension").name == format_of("odd.xyz").name == "text"
    assert len(EXTENSIONS) == sum(len(format_.extensions) for format_ in FORMATS)
    assert all(extension == extension.lower() for extension in EXTENSIONS)


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.name)
def test_empty_file_is_told_and_does_not_crash(format_: object) -> None:
    assert isinstance(format_, type(FORMATS[0]))
    for extension in format_.extensions:
        assert reason(f"x{extension}", b"")


def test_long_text_comes_in_parts_that_join_to_the_whole() -> None:
    lines = "".join(
        f"line {number} of the text, with some words in it\n" for number in range(60_000)
    )
    documents = read("long.txt", lines.encode())
    assert "".join(document.text for document in documents) == lines
    assert [document.part for document in documents] == list(range(1, len(documents) + 1))
    assert {document.title for document in documents} == {"long.txt"}
    assert all(len(document.text) <= PART_CHARACTERS * 1.25 for document in documents)
    assert all(document.text.endswith("\n") for document in documents)


def test_long_text_of_a_format_that_needs_all_of_it_comes_in_parts_too() -> None:
    page = b"<title>Long</title>" + b"<p>some words in a paragraph</p>" * 100_000
    documents = read("long.html", page)
    assert [document.part for document in documents] == [1, 2, 3]
    text = "".join(document.text for document in documents)
    assert text == "some words in a paragraph\n\n" * 99_999 + "some words in a paragraph\n"


def test_line_without_end_is_cut(corpus: Path) -> None:
    documents = read("one_line.txt", (corpus / "one_line.txt").read_bytes())
    assert "".join(document.text for document in documents) == "word " * 500_000
    assert len(documents) > 1


def test_character_and_line_end_across_the_pieces_that_are_read() -> None:
    for shift in range(4):
        text = "a" * ((1 << 20) - 3 + shift) + "\r\n€ä\r\n" + "b" * 10
        documents = read("x.txt", text.encode())
        assert "".join(d.text for d in documents) == text.replace("\r\n", "\n")


def test_documents_of_a_mailbox_come_one_by_one() -> None:
    class Counted(io.BytesIO):
        taken = 0

        def __next__(self) -> bytes:
            self.taken += 1
            return super().__next__()

    message = b"From x\nSubject: s\n\nbody\n\n"
    file = Counted(message * 1000)
    documents = read_source(Source("x.mbox", file))
    next(documents)
    assert file.taken < 10
    assert sum(1 for _ in documents) == 999


def test_total_of_an_archive_is_limited_even_when_nested() -> None:
    words = ("many different words " * 20_000).encode()
    inner = zipped({f"{number}.txt": words for number in range(3)}, 0)
    outer = zipped({"a.zip": inner, "b.zip": inner}, 0)
    total = 2 * len(inner) + 6 * len(words)
    assert len(read("x.zip", outer, Limits(unpacked_bytes=total))) == 6
    sentence = reason("x.zip", outer, Limits(unpacked_bytes=total - 1))
    assert sentence.startswith("would become more than")


def test_one_file_of_an_archive_and_their_number_are_limited() -> None:
    archive = zipped({"small.txt": "small\n", "large.txt": "large\n" * 100})
    source = Source("x.zip", io.BytesIO(archive), Limits(member_bytes=100))
    assert [document.text for document in read_source(source)] == ["small\n"]
    assert source.notes == ["large.txt is larger than 100 bytes unpacked"]
    assert "holds 2 files, more than 1" in reason("x.zip", archive, Limits(archive_members=1))


def test_size_that_an_archive_lies_about_does_not_help_it() -> None:
    archive = bytearray(zipped({"a.txt": "0123456789" * 1000}))
    place = archive.index(b"PK\1\2") + 24
    archive[place : place + 4] = (10).to_bytes(4, "little")
    assert "is damaged in the archive" in reason("x.zip", bytes(archive))


def test_nothing_is_read_outside_of_the_archive(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret\n")
    archive = zipped({f"../../../../../..{secret}": "inside\n", "/etc/hostname": "inside\n"})
    assert {document.text for document in read("x.zip", archive)} == {"inside\n"}
    entity = f'<!DOCTYPE x [<!ENTITY s SYSTEM "file://{secret}">]><x>&s;</x>'
    assert "entities" in reason("x.odt", zipped({"content.xml": entity}))


def test_name_with_odd_bytes_becomes_a_title_that_can_be_shown() -> None:
    title = read("odd \udcff\n\x1b[31mname.txt", b"text\n")[0].title
    title.encode()
    assert "\n" not in title and "\x1b" not in title
