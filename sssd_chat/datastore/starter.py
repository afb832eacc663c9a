"""The collections that come with the program: a model's answers to prompts written for it."""

from __future__ import annotations

import json
import lzma
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sssd_chat
from sssd_chat.datastore.document import STARTER
from sssd_chat.datastore.texts import StoredText

_FILE = "answers.jsonl.xz"


@dataclass(frozen=True, slots=True)
class StarterCorpus:
    """One of them."""

    collection: str
    path: Path
    """JSON lines with id, turn and text, compressed with xz."""

    @property
    def digest(self) -> str:
        """Changes when the file does. Raises OSError."""
        return f"{zlib.crc32(self.path.read_bytes()):08x}"

    def texts(self) -> Iterator[StoredText]:
        """Its documents. Raises OSError, lzma.LZMAError or ValueError when it is damaged."""
        digest = self.digest
        with lzma.open(self.path, "rt", encoding="utf-8") as file:
            for line in file:
                answer = json.loads(line)
                yield StoredText(f"{answer['id']}/{answer['turn']}", answer["text"], digest)


def starter_folder() -> Path:
    """Where they are: in the installed package, or in the checkout that it runs from."""
    package = Path(sssd_chat.__file__).parent
    installed = package / STARTER
    return installed if installed.is_dir() else package.parent / "datastores"


def starter_corpora(folder: Path | None = None) -> list[StarterCorpus]:
    """All of them, by name."""
    paths = sorted((folder or starter_folder()).glob(f"*/{_FILE}"))
    return [StarterCorpus(f"{STARTER}/{path.parent.name}", path) for path in paths]
