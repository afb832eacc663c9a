"""Encodings: what UTF-8 is stays UTF-8, and the rest is guessed well enough for real texts."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.documents import DocumentError, Source
from sssd_chat.documents.encoding import find_encoding, looks_binary, text_lines, whole_text

SENTENCES = (
    ("£5 and 10°", "cp1252"),
    ("It costs 10 € and that’s “fine” – they said so.\n", "cp1252"),
    ("It costs 10 € at the café – “fine”, naïve Zoë said.\n", "cp1252"),
    ("Él dijo: «¿Qué pasó?» – 10 €.\n", "cp1252"),
    ("Er sagte: „Schön“ – für 10 €.\n", "cp1252"),
    ("Ça va? Où êtes-vous allé cet été? Le garçon mange des gâteaux.\n", "latin-1"),
    ("Voilà l’été à la plage, « déjà » vu.\n", "mac_roman"),
    ("Он сказал: «Привет» – 10 рублей.\n", "cp1251"),
    ("Příliš žluťoučký kůň úpěl ďábelské ódy.\n", "cp1250"),
    ("Bu kısa bir deneme metnidir, çok güzel şeyler öğreniyoruz; ığdır ağacı.\n", "cp1254"),
    ("Αυτό είναι ένα σύντομο κείμενο για έλεγχο.\n", "cp1253"),
    ("هذا نص قصير لاختبار الترميز.\n", "cp1256"),
    ("이것은 인코딩을 확인하기 위한 짧은 글입니다.\n", "cp949"),
)


def read(content: bytes, declared: str | None = None) -> str:
    return whole_text(Source("x.txt", io.BytesIO(content)), declared)


@pytest.mark.parametrize(("text", "encoding"), SENTENCES)
def test_encoding_of_a_sentence_is_guessed(text: str, encoding: str) -> None:
    assert read(text.encode(encoding)) == text
    # The same after pages of plain letters, which must not lead to ASCII.
    pages = "Nothing but plain letters here.\n" * 5000
    assert read((pages + text).encode(encoding)) == pages + text


@pytest.mark.parametrize("encoding", ["shift_jis", "euc_jp", "gb18030"])
def test_character_of_several_bytes_is_not_cut_by_taking_a_sample(encoding: str) -> None:
    text = "これは文字コードの確認のための短い文章です。\n" * 10_000
    assert read(text.encode(encoding)) == text


@given(st.text(st.characters(exclude_categories=("Cs", "Cc"))))
def test_utf8_is_never_taken_for_anything_else(text: str) -> None:
    assert read(text.encode()) == text.removeprefix("\ufeff")
    assert find_encoding(io.BytesIO(text.encode())).name == "utf-8"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_mark_is_followed_and_removed(encoding: str) -> None:
    assert read("Grüße 🙂\n".encode(encoding)) == "Grüße 🙂\n"


def test_what_a_file_declares_counts_unless_it_is_utf8_or_nonsense() -> None:
    assert read("Ünï\n".encode("cp437"), "cp437") == "Ünï\n"
    assert read("Ünï\n".encode(), "cp437") == "Ünï\n"
    for nonsense in ("no-such-charset", "base64", "rot13", ""):
        assert read("Größe und Straße\n".encode("cp1252"), nonsense) == "Größe und Straße\n"


def test_zero_byte_far_in_the_file_shows_that_it_is_binary() -> None:
    with pytest.raises(DocumentError, match="zero bytes"):
        read(b"text " * 1_000_000 + b"\0")
    assert looks_binary(b"\x7fELF\2\1\1\0") and looks_binary(bytes(range(256)))
    assert not looks_binary(b"\x1b[31mcolour\x1b[0m\t\f\r\n") and not looks_binary(b"")


def test_lines_are_cut_at_line_ends_only() -> None:
    text = "one\x0bstill one\u2028still one\r\ntwo\rthree\n\nlast"
    lines = list(text_lines(Source("x", io.BytesIO(text.encode()))))
    assert lines == ["one\x0bstill one\u2028still one\n", "two\n", "three\n", "\n", "last"]
