"""What is to come of each file of the corpus: its documents, or the reason why there are none."""

from __future__ import annotations

from tests.documents.make_corpus import ASCII_LINE, CHINESE, GERMAN, JAPANESE, POLISH, RUSSIAN

VERBATIM = (
    *("Makefile", "beds.xml", "chapter.tex", "hello.go", "manual.rst", "notes.md", "package.json"),
    *("plain.txt", "query.sql", "settings.toml"),
)
"""Files whose text is what is in them."""

TITLE = "Letter about the pump"
LETTER = "Pump\n\nDear Bob,\tit drips.\n\nbed\tcrop\n1\tpeas\n\nYours, Ada\n"
BOOK = "One\n\nIt rains.\n\nTwo\n\nIt pours.\n"

GOOD: dict[str, list[tuple[str, str]]] = {
    "accident.txt": [("accident.txt", (GERMAN * 20).replace("Gr", "G\ufffdr", 1))],
    "analysis.ipynb": [
        ("Water", "# Water\n\nHow much is used.\n\n```python\nlitres = 40\nlitres * 24\n```\n")
    ],
    "articles.json": [
        (
            "articles.json",
            "Beans are up\n\nThey came overnight.\nAll of them.\n\nMore rain\n\nvery wet\n",
        )
    ],
    "attachment.eml": [
        (
            "Grüße und ein Bild",
            "Grüße und ein Bild\n\nSchöne Grüße aus dem Garten, dies ist eine lange Zeile, "
            "die umbrochen wurde.\n",
        )
    ],
    "base64.eml": [("Encoded", "Encoded\n\nDer Brief ist verpackt: äöü.\n")],
    "beds.csv": [
        (
            "beds.csv",
            'bed\tcrop\tcomment\n1\tpeas\tsweet, and early\n2\tbeans\tsay "when"\n',
        )
    ],
    "beds.tsv": [("beds.tsv", "bed\tcrop\n1\tpeas\n")],
    "book.epub": [("The Garden", BOOK)],
    "broken.html": [("broken.html", "Never closed\n\nand crossed over &bogus; <ok>\n")],
    "chapter_missing.epub": [("The Garden", BOOK)],
    "chatgpt_export.json": [("Pumps", "User: Which pump?\n\nAssistant: The small one.\n")],
    "cp1250.txt": [("cp1250.txt", POLISH * 3)],
    "cp1252.html": [("cp1252.html", GERMAN)],
    "cp1252.txt": [("cp1252.txt", GERMAN * 3)],
    "deep.html": [("deep.html", "the bottom\n")],
    "dialogues.jsonl": [
        ("dialogues.jsonl, dialogue 1", "User: Is it dry?\n\nAssistant: Yes.\n"),
        ("dialogues.jsonl, dialogue 2", "User: And now?\n\nAssistant: Still.\n"),
    ],
    "digits.json": [("digits.json", "two words\n")],
    "euc_jp.txt": [("euc_jp.txt", JAPANESE * 3)],
    "film.srt": [("film.srt", "Is the pump on?\n- Yes.\n- 42!\n1999\n")],
    "gb18030.txt": [("gb18030.txt", CHINESE * 3)],
    "half_scanned.pdf": [("half_scanned.pdf", "Typed page.\n")],
    "html_only.eml": [("Offer", "Offer\n\nDear customer,\n\nno.\n")],
    "inbox.mbox": [
        ("One", "One\n\nThe first message.\nFrom here on it is quoted.\n"),
        ("Two", "Two\n\nThe second message.\n"),
    ],
    "koi8_r.txt": [("koi8_r.txt", RUSSIAN * 3)],
    "late_cp1252.txt": [("late_cp1252.txt", ASCII_LINE * 5000 + GERMAN)],
    "late_umlaut.txt": [("late_umlaut.txt", ASCII_LINE * 5000 + GERMAN)],
    "letter.docx": [(TITLE, LETTER)],
    "letter.eml": [("The pump", "The pump\n\nDear Bob,\n\nit drips – please look.\n")],
    "letter.odt": [(TITLE, "Pump\n\nDear Bob,  it\tdrips.\n\n- one\n- two\n\nbed\tcrop\n")],
    "line_in_cell.csv": [("line_in_cell.csv", "bed\tcomment\n1\tfirst line\nsecond line\n")],
    "list_and_table.html": [
        ("list_and_table.html", "- peas\n- beans or lentils\n\nbed\tcrop\n1\tpeas\n\none\ntwo\n")
    ],
    "mixed.zip": [
        ("mixed.zip/notes/readme.txt", "Read me.\n"),
        ("mixed.zip/notes/page.html: Beans", "Some beans.\n"),
        (f"mixed.zip/letter.docx: {TITLE}", LETTER),
    ],
    "nested.zip": [
        ("nested.zip/inner.zip/beds.txt", "Bed one: peas.\n"),
        ("nested.zip/outer.md", "# Outside\n"),
    ],
    "openai.json": [
        (
            "openai.json, dialogue 1",
            "System: Be brief.\n\nUser: What is this?\n\nAssistant: A bean.\nA runner bean.\n",
        )
    ],
    "page.html": [
        (
            "The pump manual",
            "Pump\n\nPrime it first, then wait a minute & go.\n\nSecond\nline\n\n"
            "pump --start\n  --slow\n",
        )
    ],
    "paper.tex": [
        (
            "On Pumps",
            "\\maketitle\nA pump moves $V = 40\\,\\mathrm{l}$ an hour. % measured\n",
        )
    ],
    "readable_by_all.pdf": [("readable_by_all.pdf", "The pump manual.\n")],
    "roles.json": [("roles.json, dialogue 1", "User: One word.\n\nAssistant: Word.\n")],
    "semicolons.csv": [("semicolons.csv", "bed\tlitres\n1\t2,5\n2\t3,5\n")],
    "sharegpt.json": [
        ("sharegpt.json, dialogue 1", "User: Hello?\n\nAssistant: Hello.\n"),
        ("Beans", "User: When do I sow?\n\nAssistant: In May.\n"),
    ],
    "shift_jis.txt": [("shift_jis.txt", JAPANESE * 3)],
    "some_broken.jsonl": [
        ("some_broken.jsonl", "This line is fine.\n\nand this one is fine, too\n\n")
    ],
    "strict.xhtml": [("Strict", "Café\nbar\n")],
    "surrogate.json": [("surrogate.json", "half a \ufffd pair\n\na  zero\n")],
    "talk.vtt": [("talk.vtt", "Water & light.\nare all\n")],
    "text.pdf": [("text.pdf", "The pump manual.\n\nPrime it first.\n")],
    "texts.jsonl": [("texts.jsonl", "The first entry is short.\n\nThe second has\ntwo lines.\n\n")],
    "too_deep.zip": [("too_deep.zip/nested.zip/outer.md", "# Outside\n")],
    "unknown_charset.eml": [("Odd", "Odd\n\nThe charset does not exist – the text does.\n")],
    "utf16.txt": [("utf16.txt", GERMAN)],
    "utf16_unmarked.txt": [("utf16_unmarked.txt", GERMAN)],
    "utf32.txt": [("utf32.txt", GERMAN)],
    "utf8_mark.txt": [("utf8_mark.txt", GERMAN)],
    "version3.ipynb": [("version3.ipynb", "Old notes.\n\n```python\n1 + 1\n```\n")],
    "windows.txt": [("windows.txt", "one\ntwo\n\nthree")],
}
"""Title and text of each document."""

NOTES: dict[str, list[str]] = {
    "accident.txt": ["a few broken characters replaced"],
    "attachment.eml": ["an attachment left out"],
    "chapter_missing.epub": ["1 of 3 chapters are missing in the file"],
    "cp1250.txt": ["read as cp1250, a guess"],
    "cp1252.txt": ["read as cp1252, a guess"],
    "euc_jp.txt": ["read as euc_jp, a guess"],
    "gb18030.txt": ["read as gb18030, a guess"],
    "half_scanned.pdf": ["1 of 2 pages are pictures and need OCR"],
    "koi8_r.txt": ["read as koi8_r, a guess"],
    "late_cp1252.txt": ["read as cp1252, a guess"],
    "mixed.zip": [
        "scan.pdf needs OCR before it can be read: its only page has pictures but no text",
        "1 binary files in it left out",
    ],
    "package.json": ["holds no sentences, so taken as source code"],
    "shift_jis.txt": ["read as cp932, a guess"],
    "some_broken.jsonl": ["1 of 3 lines are no valid JSON"],
    "too_deep.zip": ["nested.zip: inner.zip lies in 2 other archives, deeper than is read"],
    "utf16_unmarked.txt": ["read as UTF-16-LE"],
}
"""Of a file and of its documents; none of the others."""

_ENCRYPTED = "is encrypted; save a copy without a password"
_LAUGHS = "declares XML entities, which no harmless document does"
_RUBBISH = (
    "gives unreadable characters, because its fonts do not say which letters they show; "
    "it needs OCR"
)
_BOMB = "looks like a zip bomb: 2.92 kB in it become 3 MB"
_NO_ZIP = "is damaged: its list of contents cannot be read"
_BINARY = "is not text: it holds bytes that no text has"

BROKEN: dict[str, str] = {
    "blank.txt": "holds no text",
    "bomb.docx": _BOMB,
    "bomb.odt": _BOMB,
    "bomb.zip": _BOMB,
    "broken.json": "is no valid JSON: Expecting ',' delimiter in line 3",
    "broken.odt": "is damaged: its XML is not well-formed (mismatched tag: line 1, column 267)",
    "cid.pdf": _RUBBISH,
    "controls.txt": _BINARY,
    "cut.docx": _NO_ZIP,
    "cut.ipynb": "is no valid JSON: Expecting value in line 1",
    "cut.pdf": "is damaged or no PDF file: Stream has ended unexpectedly",
    "damaged.zip": "holds nothing that can be read: beds.txt is damaged in the archive",
    "deep.eml": "is nested too deeply to be read",
    "deep.json": "is nested too deeply to be read",
    "deep.jsonl": "is no JSON Lines file: not one of its lines is valid JSON",
    "deep_closed.json": "is nested too deeply to be read",
    "encrypted.docx": ("is encrypted or of an older Office format; save it without a password"),
    "encrypted.odt": _ENCRYPTED,
    "encrypted.pdf": _ENCRYPTED,
    "encrypted.zip": f"holds nothing that can be read: beds.txt {_ENCRYPTED}",
    "laughs.epub": _LAUGHS,
    "laughs.odt": _LAUGHS,
    "letter.rtf": "is RTF, which is not read; save it as DOCX or as text",
    "no.docx": _NO_ZIP,
    "no.pdf": "is damaged or no PDF file: Stream has ended unexpectedly",
    "no.zip": _NO_ZIP,
    "no_body.eml": "holds no text",
    "no_cells.ipynb": "is no Jupyter notebook: it has no cells",
    "no_json.jsonl": "is no JSON Lines file: not one of its lines is valid JSON",
    "no_mailbox.mbox": 'is no mailbox: it does not start with "From "',
    "no_text.ipynb": "holds no text",
    "no_text.pdf": "needs OCR before it can be read: its only page has no text",
    "no_times.srt": "is no subtitles file: it has no times",
    "only_pictures.zip": "holds no text",
    "only_script.html": "holds no text",
    "other.docx": "is no DOCX file: it has no [Content_Types].xml",
    "other.epub": "is no EPUB file: it has no META-INF/container.xml",
    "other.odt": "is no ODT file: it has no content.xml",
    "picture.txt": _BINARY,
    "private_font.pdf": _RUBBISH,
    "protected.epub": "is copy-protected, so its chapters cannot be read",
    "scanned.pdf": "needs OCR before it can be read: its 2 pages have pictures but no text",
    "wide.csv": (
        "has a cell of more than 1 MB that ends in line 2; a quotation mark may be missing"
    ),
    "zeros.txt": "is not text: it holds zero bytes",
}
"""The reason, which continues a sentence that starts with the file's name."""

BIG = ("one_line.txt",)
"""Files with tests of their own."""
