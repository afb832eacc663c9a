"""A vocabulary that spells: one token for each byte."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt


class Spelling:
    def __init__(self, fingerprint: str = "spelling", first: int = 10) -> None:
        self.fingerprint = fingerprint
        self.first = first
        self.tokenized: list[str] = []

    def tokenize(self, text: str, *, special: bool = False, add_start: bool = False) -> list[int]:
        assert not special
        assert not add_start
        self.tokenized.append(text)
        return [self.first + byte for byte in text.encode("utf-8", "surrogatepass")]

    def tokenize_arrays(self, texts: Sequence[str]) -> list[npt.NDArray[np.uint32]]:
        return [np.array(self.tokenize(text), np.uint32) for text in texts]

    def piece(self, token: int, *, special: bool = False) -> bytes:
        return bytes([token - self.first])


@contextlib.contextmanager
def open_spelling(_model: Path) -> Iterator[Spelling]:
    yield Spelling()
