"""Makes the part of the corpus that is not text: `python -m tests.documents.make_corpus FOLDER`."""

from __future__ import annotations

import io
import json
import random
import sys
import zipfile
import zlib
from pathlib import Path

import docx
import pypdf

GERMAN = "Die Größe der Häuser überrascht: schöne Straßen, süße Äpfel und ein Fluß.\n"
POLISH = "Zażółć gęślą jaźń, to jest krótki tekst próbny.\n"
RUSSIAN = "Привет, мир. Это небольшая проверка кодировки текста.\n"
JAPANESE = "これは文字コードの確認のための短い文章です。\n"
CHINESE = "这是一个用来测试编码的简短文本。\n"
ASCII_LINE = "Nothing but plain letters for many pages.\n"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)

OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
LAUGHS = (
    '<!DOCTYPE lolz [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;">]>'
)


def make(folder: Path) -> None:
    """Writes the files into `folder`."""
    for some in (encodings, notebooks, pdfs, office, books, archives, traps):
        for name, content in some().items():
            (folder / name).write_bytes(content)


def encodings() -> dict[str, bytes]:
    return {
        "cp1252.txt": (GERMAN * 3).encode("cp1252"),
        "cp1250.txt": (POLISH * 3).encode("cp1250"),
        "koi8_r.txt": (RUSSIAN * 3).encode("koi8_r"),
        "shift_jis.txt": (JAPANESE * 3).encode("shift_jis"),
        "euc_jp.txt": (JAPANESE * 3).encode("euc_jp"),
        "gb18030.txt": (CHINESE * 3).encode("gb18030"),
        "utf8_mark.txt": GERMAN.encode("utf-8-sig"),
        "utf16.txt": GERMAN.encode("utf-16"),
        "utf16_unmarked.txt": GERMAN.encode("utf-16-le"),
        "utf32.txt": GERMAN.encode("utf-32"),
        "late_umlaut.txt": (ASCII_LINE * 5000 + GERMAN).encode(),
        "late_cp1252.txt": (ASCII_LINE * 5000 + GERMAN).encode("cp1252"),
        "accident.txt": (GERMAN * 20).encode().replace(b"Gr", b"G\xffr", 1),
        "windows.txt": b"one\r\ntwo\r\n\rthree",
        "cp1252.html": f'<meta charset="windows-1252"><p>{GERMAN}</p>'.encode("cp1252"),
        "zeros.txt": b"text first, " * 10_000 + b"\0\1\2",
        "controls.txt": bytes(range(1, 32)) * 50,
        "picture.txt": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(50),
    }


def notebooks() -> dict[str, bytes]:
    """Those that a checker of notebooks would complain about."""
    old_cells = [
        {"cell_type": "markdown", "source": ["Old notes."]},
        {"cell_type": "code", "input": ["1 + 1"], "language": "python", "outputs": []},
    ]
    return {
        "version3.ipynb": json.dumps(
            {"nbformat": 3, "worksheets": [{"cells": old_cells}]}
        ).encode(),
        "cut.ipynb": b'{"cells": [',
        "no_cells.ipynb": b'{"a": 1}',
        "no_text.ipynb": b'{"cells": [{"cell_type": "code", "source": [], "outputs": []}, 7]}',
    }


def pdf(pages: list[bytes], extra: str = "", font: str = "") -> bytes:
    """A PDF with these content streams, written by hand so that it can be odd."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = {
        1: b"<</Type/Catalog/Pages 2 0 R>>",
        2: f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode(),
        3: (font or "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>").encode(),
    }
    for number, stream in enumerate(pages):
        place = 4 + 2 * number
        resources = f"<</Font<</F 3 0 R>>{extra}>>"
        objects[place] = (
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Resources{resources}"
            f"/Contents {place + 1} 0 R>>"
        ).encode()
        packed = zlib.compress(stream)
        head = f"<</Length {len(packed)}/Filter/FlateDecode>>".encode()
        objects[place + 1] = head + b"stream\n" + packed + b"\nendstream"
    objects[90] = (
        b"<</Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8"
        b"/ColorSpace/DeviceGray/Length 1>>stream\n0\nendstream"
    )
    objects[91] = (
        b"<</Length 200>>stream\nbegincmap 1 begincodespacerange <00><FF> endcodespacerange "
        b"1 beginbfrange <41><7A><E041> endbfrange endcmap\nendstream"
    )
    return _with_table(objects)


def _with_table(objects: dict[int, bytes]) -> bytes:
    out = io.BytesIO(b"%PDF-1.4\n")
    out.seek(0, io.SEEK_END)
    places = {}
    for number, content in objects.items():
        places[number] = out.tell()
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    start = out.tell()
    out.write(b"xref\n0 1\n0000000000 65535 f \n")
    for number, place in places.items():
        out.write(b"%d 1\n%010d 00000 n \n" % (number, place))
    out.write(b"trailer\n<</Size 92/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % start)
    return out.getvalue()


def shown(text: str) -> bytes:
    return f"BT /F 12 Tf 20 200 Td ({text}) Tj ET".encode()


PICTURE = "/XObject<</I 90 0 R>>"
PRIVATE_FONT = "<</Type/Font/Subtype/Type1/BaseFont/X/ToUnicode 91 0 R>>"


def encrypted_pdf(user_password: str) -> bytes:
    writer = pypdf.PdfWriter(io.BytesIO(pdf([shown("The pump manual.")])))
    writer.encrypt(user_password, "owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def pdfs() -> dict[str, bytes]:
    good = pdf([shown("The pump manual."), shown("Prime it first.")])
    words = " ".join("".join(random.Random(i).choices("ABCDEFGH", k=6)) for i in range(30))
    return {
        "text.pdf": good,
        "half_scanned.pdf": pdf([shown("Typed page."), b"q /I Do Q"], PICTURE),
        "scanned.pdf": pdf([b"q /I Do Q"] * 2, PICTURE),
        "no_text.pdf": pdf([b"0 0 m 9 9 l S"]),
        "encrypted.pdf": encrypted_pdf("secret"),
        "readable_by_all.pdf": encrypted_pdf(""),
        "private_font.pdf": pdf([shown(words)], font=PRIVATE_FONT),
        "cid.pdf": pdf([shown("\\(cid:12\\)\\(cid:7\\)" * 20 + " x")]),
        "cut.pdf": good[:90],
        "no.pdf": b"This is not a PDF at all.\n",
    }


def zipped(files: dict[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 5, 1, 0, 0, 0)), content, method)
    return out.getvalue()


def letter_docx() -> bytes:
    document = docx.Document()
    document.core_properties.title = "Letter about the pump"
    document.add_heading("Pump", 1)
    document.add_paragraph("Dear Bob,").add_run("\tit drips.").bold = True
    table = document.add_table(2, 2)
    for row, texts in zip(table.rows, (("bed", "crop"), ("1", "peas")), strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    document.add_paragraph("Yours, Ada")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def odt_content(body: str, head: str = "") -> str:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>{head}<o:document-content xmlns:o="{OFFICE}" '
        f'xmlns:t="{TEXT}" xmlns:b="{TABLE}"><o:body><o:text>{body}</o:text></o:body>'
        "</o:document-content>"
    )


ODT_BODY = """
<t:tracked-changes><t:p>deleted</t:p></t:tracked-changes>
<t:h t:outline-level="1">Pump</t:h>
<t:p>Dear Bob,<t:s t:c="2"/>it<t:tab/>drips.<o:annotation><t:p>a comment</t:p></o:annotation></t:p>
<t:list><t:list-item><t:p>one</t:p></t:list-item><t:list-item><t:p>two</t:p></t:list-item></t:list>
<b:table><b:table-row><b:table-cell><t:p>bed</t:p></b:table-cell>
<b:table-cell><t:p>crop</t:p></b:table-cell></b:table-row></b:table>
"""
ODT_META = (
    f'<o:document-meta xmlns:o="{OFFICE}" xmlns:d="http://purl.org/dc/elements/1.1/">'
    "<o:meta><d:title>Letter about the pump</d:title></o:meta></o:document-meta>"
)


def office() -> dict[str, bytes]:
    good = letter_docx()
    return {
        "letter.docx": good,
        "encrypted.docx": OLE,
        "no.docx": b"This is not a zip file at all.",
        "cut.docx": good[: len(good) // 2],
        "other.docx": zipped({"readme.txt": "a zip file, but no document"}),
        "letter.odt": zipped({"content.xml": odt_content(ODT_BODY), "meta.xml": ODT_META}),
        "encrypted.odt": zipped(
            {"content.xml": b"\1\2", "META-INF/manifest.xml": "<m:encryption-data/>"}
        ),
        "laughs.odt": zipped({"content.xml": odt_content("<t:p>&d;</t:p>", LAUGHS)}),
        "broken.odt": zipped({"content.xml": odt_content("<t:p>never closed")}),
        "other.odt": zipped({"readme.txt": "a zip file, but no document"}),
    }


CONTAINER = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
PACKAGE = (
    '<package xmlns:d="http://purl.org/dc/elements/1.1/"><metadata><d:title>The Garden</d:title>'
    '</metadata><manifest><item id="b" href="two.xhtml"/><item id="a" href="chapter%20one.xhtml"/>'
    '</manifest><spine><itemref idref="a"/><itemref idref="b"/>{more}</spine></package>'
)


def book(more: str = "", **files: str) -> bytes:
    return zipped(
        {
            "META-INF/container.xml": CONTAINER,
            "OPS/book.opf": PACKAGE.replace("{more}", more),
            "OPS/chapter one.xhtml": "<html><body><h1>One</h1><p>It rains.</p></body></html>",
            "OPS/two.xhtml": "<html><body><h1>Two</h1><p>It pours.</p></body></html>",
            **{name.replace("__", "/").replace("_xml", ".xml"): t for name, t in files.items()},
        }
    )


def books() -> dict[str, bytes]:
    cipher = '<e><CipherReference URI="OPS/two.xhtml"/></e>'
    return {
        "book.epub": book(),
        "chapter_missing.epub": book('<itemref idref="lost"/>'),
        "protected.epub": book(**{"META-INF__encryption_xml": cipher}),
        "laughs.epub": book(**{"META-INF__container_xml": LAUGHS + "<lolz>&d;</lolz>"}),
        "other.epub": zipped({"readme.txt": "a zip file, but no book"}),
    }


def with_encryption_flag(content: bytes) -> bytes:
    """Marks the only file in a zip file as encrypted, in both of its headers."""
    changed = bytearray(content)
    changed[6] |= 1
    changed[content.index(b"PK\1\2") + 8] |= 1
    return bytes(changed)


def damaged(content: bytes) -> bytes:
    place = content.index(b"peas")
    return content[:place] + b"PEAS" + content[place + 4 :]


def archives() -> dict[str, bytes]:
    one = zipped({"beds.txt": "Bed one: peas.\n"}, zipfile.ZIP_STORED)
    nested = zipped({"inner.zip": one, "outer.md": "# Outside\n"})
    return {
        "mixed.zip": zipped(
            {
                "notes/readme.txt": "Read me.\n",
                "notes/page.html": "<title>Beans</title><p>Some beans.</p>",
                "letter.docx": letter_docx(),
                "picture.png": b"\x89PNG\0\0\0",
                ".hidden/x.txt": "hidden",
                "__MACOSX/._x.txt": "hidden",
                "empty.txt": "",
                "scan.pdf": pdf([b"q /I Do Q"], PICTURE),
            }
        ),
        "nested.zip": nested,
        "too_deep.zip": zipped({"nested.zip": nested}),
        "encrypted.zip": with_encryption_flag(one),
        "damaged.zip": damaged(one),
        "no.zip": b"This is not a zip file at all.",
        "only_pictures.zip": zipped({"a.png": b"\x89PNG\0\0", "b.png": b"\x89PNG\0\0"}),
    }


def traps() -> dict[str, bytes]:
    zeros = b" " * 3_000_000
    return {
        "bomb.zip": zipped({"a.txt": "first\n", "b.txt": zeros}),
        "bomb.docx": zipped({"[Content_Types].xml": "", "word/document.xml": zeros}),
        "bomb.odt": zipped({"content.xml": zeros}),
        "deep.json": b"[" * 200_000,
        "deep_closed.json": b"[" * 50_000 + b"]" * 50_000,
        "deep.jsonl": b'{"a":' * 100_000 + b"\n",
        "deep.html": b"<div>" * 100_000 + b"the bottom",
        "digits.json": b'{"n": ' + b"9" * 50_000 + b', "t": "two words"}',
        "wide.csv": b'a,b\n1,"' + b"x" * 1_500_000,
        "surrogate.json": b'["half a \\ud83d pair", "a \\u0000 zero"]',
        "deep.eml": b"".join(
            b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n) for n in range(1000)
        ),
        "one_line.txt": b"word " * 500_000,
    }


if __name__ == "__main__":
    make(Path(sys.argv[1]))
