"""Bytes become text: byte order mark, then UTF-8, then a guess from a large sample.

UTF-8 is tried on the whole file, never on its start alone: a file whose first umlaut is on page 300
is no ASCII. Everything is read in pieces, twice at most, so that the size does not matter.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from sssd_chat.documents.document import PART_CHARACTERS, Document, DocumentError, Source

_CHUNK = 1 << 20
_HEAD = 1 << 16
_PORTION = PART_CHARACTERS // 8
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its start
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NOT_IN_TEXT = bytes(set(range(0x20)) - set(b"\t\n\v\f\r\x08\x1b")) + b"\x7f"
_MOST_CONTROLS = 0.05
_ZEROS_OF_UTF16 = 0.4
_REPAIRABLE = 20
"""Characters in valid UTF-8 per broken byte, above which a file is UTF-8 with an accident."""

_COMMON = (
    *("cp1252", "cp1251", "cp1250", "cp932", "euc_jp", "gb18030", "big5", "cp949", "koi8_r"),
    *("cp1253", "cp1254", "cp1255", "cp1256", "iso8859_2", "mac_roman"),
)
"""Encodings that people's files are in, the commoner first."""
_SYMBOLS = frozenset("\xa0€‚„…‘’“”•–—™¢£¥§©«®°±µ·»¼½¾×÷")
"""Of cp1252. A text with no other character beyond ASCII says nothing about its language."""
_AS_GOOD = 0.03
_PLAUSIBLE_CHAOS = 0.1
_SAMPLE = 1 << 18


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the bytes of a file are to be decoded."""

    name: str
    skipped: int = 0
    """Bytes of the byte order mark."""
    note: str = ""
    """What is worth telling, such as a guess."""


def looks_binary(head: bytes) -> bool:
    """Whether the start of a file shows that it is no text in any encoding."""
    if any(head.startswith(mark) for mark, _ in _MARKS):
        return False
    if b"\0" in head:
        return _unmarked_utf16(head) is None
    return len(head) - len(head.translate(None, _NOT_IN_TEXT)) > len(head) * _MOST_CONTROLS


def find_encoding(file: BinaryIO, declared: str | None = None) -> Encoding:
    """How to decode a file; `declared` is what it says of itself, which counts when it has no byte
    order mark and is not UTF-8. Raises DocumentError if it is not text."""
    file.seek(0)
    head = file.read(_HEAD)
    if looks_binary(head):
        raise DocumentError("is not text: it holds bytes that no text has")
    for mark, name in _MARKS:
        if head.startswith(mark):
            return Encoding(name, len(mark))
    utf16 = _unmarked_utf16(head)
    if utf16:
        return Encoding(utf16, note=f"read as {utf16.upper()}")
    if _is_utf8(file):
        return Encoding("utf-8")
    if declared and _is_known(declared):
        return Encoding(declared)
    return _guess(file)


def _unmarked_utf16(head: bytes) -> str | None:
    """UTF-16 without a mark: in most languages, every second byte of much of the text is zero."""
    first, second = head[0::2], head[1::2]
    enough = len(head) // 2 * _ZEROS_OF_UTF16
    if second.count(0) > enough and not first.count(0):
        return "utf-16-le"
    if first.count(0) > enough and not second.count(0):
        return "utf-16-be"
    return None


def _is_utf8(file: BinaryIO) -> bool:
    """Raises DocumentError at the first zero byte, wherever it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    valid = True
    for chunk in _chunks(file, 0):
        if b"\0" in chunk:
            raise DocumentError("is not text: it holds zero bytes")
        if valid:
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                valid = False
    try:
        decoder.decode(b"", True)
    except UnicodeDecodeError:
        return False
    return valid


def _is_known(name: str) -> bool:
    try:
        # Some codecs, such as base64, are none between bytes and text.
        "a".encode(name)
    except (LookupError, ValueError, TypeError):
        return False
    return True


def _guess(file: BinaryIO) -> Encoding:
    sample = _telling_sample(file)
    repaired = sample.decode("utf-8", "replace")
    broken = repaired.count("\ufffd")
    others = sum(character > "\x7f" for character in repaired) - broken
    if others > broken * _REPAIRABLE:
        return Encoding("utf-8", note="a few broken characters replaced")
    western = sample.decode("cp1252", "replace")
    if all(character <= "\x7f" or character in _SYMBOLS for character in western):
        return Encoding("cp1252", note="read as cp1252, a guess")

    from charset_normalizer import from_bytes

    matches = list(from_bytes(sample, cp_isolation=list(_COMMON)))
    if not matches:
        raise DocumentError("is text in an unknown encoding; save it as UTF-8")
    coherence = max(match.coherence for match in matches)
    chaos = min(match.chaos for match in matches)
    # Texts of one script often fit several encodings equally well; then the common one is likely.
    equals = {
        name
        for match in matches
        if match.coherence >= coherence - _AS_GOOD and match.chaos <= chaos + _PLAUSIBLE_CHAOS
        for name in match.could_be_from_charset
    }
    name = next((name for name in _COMMON if name in equals), matches[0].encoding)
    return Encoding(name, note=f"read as {name}, a guess")


def _telling_sample(file: BinaryIO) -> bytes:
    """The first lines with bytes beyond ASCII: the others say nothing about the encoding, and
    would make the rest look like a few accidents in an English text."""
    file.seek(0)
    lines: list[bytes] = []
    size = 0
    # By lines, because a character that is cut in half fits no encoding.
    while size < _SAMPLE and (line := file.readline(_HEAD)):
        if not line.isascii():
            lines.append(line)
            size += len(line)
    return b"".join(lines)


def _chunks(file: BinaryIO, start: int, size: int = _CHUNK) -> Iterator[bytes]:
    file.seek(start)
    while chunk := file.read(size):
        yield chunk


def text_pieces(source: Source, declared: str | None = None) -> Iterator[str]:
    """The text of a file in pieces, with line ends as "\\n". Notes what is worth telling about its
    encoding. Raises DocumentError if it is not text."""
    encoding = find_encoding(source.file, declared)
    if encoding.note:
        source.notes.append(encoding.note)
    decoder = codecs.getincrementaldecoder(encoding.name)("replace")
    newlines = io.IncrementalNewlineDecoder(decoder, translate=True)
    for chunk in _chunks(source.file, encoding.skipped):
        yield newlines.decode(chunk)
    yield newlines.decode(b"", final=True)


def whole_text(source: Source, declared: str | None = None) -> str:
    """The text of a file that must be in memory as a whole; else as `text_pieces`."""
    return "".join(text_pieces(source, declared))


def text_lines(source: Source) -> Iterator[str]:
    """The text of a file line by line, with the line ends; else as `text_pieces`."""
    begun: list[str] = []
    for piece in text_pieces(source):
        # Only "\n" ends a line here; splitlines() knows ten other characters.
        lines = piece.split("\n")
        for line in lines[:-1]:
            yield "".join((*begun, line, "\n"))
            begun.clear()
        begun.append(lines[-1])
    last = "".join(begun)
    if last:
        yield last


def in_parts(title: str, pieces: Iterable[str], notes: tuple[str, ...] = ()) -> Iterator[Document]:
    """One text that comes in pieces, as documents of about PART_CHARACTERS, cut at line ends."""
    waiting: list[str] = []
    size = 0
    part = 1
    for piece in pieces:
        for start in range(0, len(piece), _PORTION):
            portion = piece[start : start + _PORTION]
            waiting.append(portion)
            size += len(portion)
            if size < PART_CHARACTERS:
                continue
            text = "".join(waiting)
            cut = text.rfind("\n") + 1 or len(text)
            yield Document(title, text[:cut], notes, part)
            part += 1
            waiting, size = [text[cut:]], len(text) - cut
    text = "".join(waiting)
    if text:
        yield Document(title, text, notes, part)
