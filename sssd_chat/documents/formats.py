"""Which extension is which format, and which module reads it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePosixPath
from typing import cast

from sssd_chat.documents.document import Reader


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files."""

    name: str
    """For people, in the singular, such as "PDF"."""
    module: str
    """Its reader, in `documents/readers`."""
    extensions: tuple[str, ...]
    """In lower case, with the dot."""
    is_text: bool = True
    """Whether zero bytes in a file show that it is not of this format."""

    def reader(self) -> Reader:
        """The reader, imported only now: some stand on large libraries."""
        return cast(Reader, import_module(f"sssd_chat.documents.readers.{self.module}"))


PLAIN_TEXT = Format("text", "plain", (".txt", ".text", ".log"))
SOURCE_CODE = Format(
    "source code",
    "plain",
    (
        *(".adb", ".asm", ".awk", ".bash", ".bat", ".c", ".cc", ".cfg", ".clj", ".cmake", ".cpp"),
        *(".cs", ".css", ".cu", ".cxx", ".d", ".dart", ".diff", ".el", ".elm", ".erl", ".ex"),
        *(".exs", ".f", ".f90", ".fish", ".fs", ".go", ".gradle", ".graphql", ".groovy", ".h"),
        *(".hcl", ".hh", ".hpp", ".hs", ".ini", ".java", ".jl", ".js", ".jsx", ".kt", ".less"),
        *(".lisp", ".lua", ".m", ".mjs", ".ml", ".mm", ".nim", ".nix", ".pas", ".patch", ".php"),
        *(".pl", ".pm", ".properties", ".proto", ".ps1", ".py", ".pyi", ".r", ".rb", ".rkt"),
        *(".rs", ".sass", ".scala", ".scm", ".scss", ".sh", ".sql", ".svelte", ".swift", ".tcl"),
        *(".tcss", ".tf", ".toml", ".ts", ".tsx", ".v", ".vb", ".vhd", ".vim", ".vue", ".xml"),
        *(".yaml", ".yml", ".zig", ".zsh"),
    ),
)

FORMATS = (
    PLAIN_TEXT,
    Format("Markdown", "plain", (".md", ".markdown", ".mdown", ".mdx", ".qmd")),
    Format("reStructuredText", "plain", (".rst", ".rest")),
    SOURCE_CODE,
    Format("CSV", "delimited", (".csv",)),
    Format("TSV", "delimited", (".tsv", ".tab")),
    Format("JSON", "json_file", (".json",)),
    Format("JSON Lines", "json_lines", (".jsonl", ".ndjson")),
    Format("HTML", "web_page", (".html", ".htm", ".xhtml")),
    Format("PDF", "pdf", (".pdf",), is_text=False),
    Format("DOCX", "docx", (".docx",), is_text=False),
    Format("ODT", "odt", (".odt",), is_text=False),
    Format("EPUB", "epub", (".epub",), is_text=False),
    Format("e-mail", "mail", (".eml",)),
    Format("mbox", "mbox", (".mbox",)),
    Format("Jupyter notebook", "notebook", (".ipynb",)),
    Format("LaTeX", "latex", (".tex", ".ltx")),
    Format("SubRip subtitles", "subtitles", (".srt",)),
    Format("WebVTT subtitles", "subtitles", (".vtt",)),
    Format("zip archive", "archive", (".zip",), is_text=False),
)
"""Every format that is read. A file of another extension is read as text if it looks like text."""

EXTENSIONS = {extension: format_ for format_ in FORMATS for extension in format_.extensions}
"""The format of each extension."""


def format_of(name: str) -> Format:
    """The format that the name of a file tells; plain text if it tells none."""
    return EXTENSIONS.get(PurePosixPath(name).suffix.lower(), PLAIN_TEXT)
