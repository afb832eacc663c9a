"""Text to tokens and back, exactly."""

from __future__ import annotations

import codecs
import ctypes
import functools
import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sssd_chat.llama.long_text import WORTH_BYTES, LongTextTokenizer
from sssd_chat.llama.runtime import api

_ATTRIBUTE_UNKNOWN = 1 << 0
_ATTRIBUTE_CONTROL = 1 << 3
_ATTRIBUTE_USER_DEFINED = 1 << 4

THINKING_MARKS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
)
"""What models write before and after their thinking."""

_WRITTEN_MARKS = frozenset(mark.encode() for pair in THINKING_MARKS for mark in pair)


class Vocabulary:
    """The tokenizer of a loaded model. The model must outlive it."""

    def __init__(self, model: Any) -> None:
        """`model` is the llama_model pointer."""
        self._api = api()
        self._vocab = self._api.llama_model_get_vocab(model)
        self.size: int = self._api.llama_vocab_n_tokens(self._vocab)
        """Number of tokens."""
        self.adds_start: bool = bool(self._api.llama_vocab_get_add_bos(self._vocab))
        """Whether the model expects its start token before a text."""
        self._pieces: dict[tuple[int, bool], bytes] = {}

    @property
    def pointer(self) -> Any:
        """The llama_vocab pointer."""
        return self._vocab

    @property
    def start(self) -> int | None:
        """The start-of-text token (BOS), where there is one."""
        token: int = self._api.llama_vocab_bos(self._vocab)
        return token if token >= 0 else None

    @property
    def end(self) -> int | None:
        """The end-of-text token (EOS), where there is one."""
        token: int = self._api.llama_vocab_eos(self._vocab)
        return token if token >= 0 else None

    def text_of(self, token: int | None) -> str:
        """How a token is written in a template; empty for None."""
        return "" if token is None else self.piece(token, special=True).decode("utf-8", "replace")

    def tokenize(self, text: str, *, special: bool = False, add_start: bool = False) -> list[int]:
        """Token ids of `text` (llama_tokenize).

        With `special` the written form of a control token becomes that token: for text of a
        template only. What a user typed never may. With `add_start` the start token is put in
        front, if the vocabulary wants one. Lone surrogates become U+FFFD.
        """
        tokens: list[int] = self._tokenize(_as_utf8(text), special, add_start).tolist()
        return tokens

    def tokenize_arrays(self, texts: Sequence[str]) -> list[npt.NDArray[np.uint32]]:
        """Like `tokenize` without its options, for many texts or long ones: 4 bytes a token, and
        several times as fast. Other threads run meanwhile, and may tokenize, too."""
        data = list(map(_as_utf8, texts))
        if sum(map(len, data)) < WORTH_BYTES or not self._has_words:
            arrays = list(map(self._tokenize, data))
        else:
            arrays = self._long_texts.tokenize(data)
        return [array.view(np.uint32) for array in arrays]

    @functools.cached_property
    def _long_texts(self) -> LongTextTokenizer:
        return LongTextTokenizer(self._tokenize, lambda token: len(self.piece(token)), self._marks)

    @functools.cached_property
    def _has_words(self) -> bool:
        kind: int = self._api.llama_vocab_type(self._vocab)
        return bool(kind == self._api.LLAMA_VOCAB_TYPE_BPE)

    @functools.cached_property
    def _marks(self) -> list[bytes]:
        """What becomes a token wherever it stands in a text."""
        attribute_of, vocab = self._api.llama_vocab_get_attr, self._vocab
        own = [t for t in range(self.size) if attribute_of(vocab, t) & _ATTRIBUTE_USER_DEFINED]
        return [mark for mark in map(self.piece, own) if mark]

    def _tokenize(
        self, data: bytes, special: bool = False, add_start: bool = False
    ) -> npt.NDArray[np.int32]:
        # No token but those at the ends stands for less than a byte.
        room = len(data) + 4
        while True:
            buffer = np.empty(room, np.int32)
            place = buffer.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
            count: int = self._api.llama_tokenize(
                self._vocab, data, len(data), place, room, add_start, special
            )
            if count >= 0:
                # A copy, or the tokens would hold on to the memory of the whole buffer.
                return buffer[:count].copy()
            room = -count

    def piece(self, token: int, *, special: bool = False) -> bytes:
        """The bytes of one token, possibly part of a character (llama_token_to_piece). Control
        tokens are empty unless `special`, but for the marks around thinking, which are text
        whether or not a vocabulary calls them control tokens."""
        key = (token, special)
        piece = self._pieces.get(key)
        if piece is None:
            piece = self._read_piece(token, special)
            if not piece and not special:
                written = self._read_piece(token, special=True)
                piece = written if written in _WRITTEN_MARKS else b""
            self._pieces[key] = piece
        return piece

    def _read_piece(self, token: int, special: bool) -> bytes:
        if not 0 <= token < self.size:
            raise ValueError(f"token {token} is not in a vocabulary of {self.size}")
        room = 64
        while True:
            buffer = ctypes.create_string_buffer(room)
            count: int = self._api.llama_token_to_piece(
                self._vocab, token, buffer, room, 0, special
            )
            if count >= 0:
                return buffer.raw[:count]
            room = -count

    def detokenize(self, tokens: Iterable[int], *, special: bool = False) -> bytes:
        """The bytes of a sequence of tokens."""
        return b"".join([self.piece(token, special=special) for token in tokens])

    def is_end_of_generation(self, token: int) -> bool:
        """Whether the token ends an answer (end of text, of turn, of message, …)."""
        return bool(self._api.llama_vocab_is_eog(self._vocab, token))

    def ends(self) -> frozenset[int]:
        """All tokens that end an answer. Takes a tenth of a second for the largest vocabularies."""
        return frozenset(filter(self.is_end_of_generation, range(self.size)))

    def control_texts(self, text: str) -> list[str]:
        """The written forms of control tokens that occur in `text`, longest first. They must be
        kept from becoming control tokens when a user typed them."""
        found = {token for token in self.tokenize(text, special=True) if self._is_control(token)}
        texts = {self.text_of(token) for token in found}
        return sorted((t for t in texts if t and t in text), key=len, reverse=True)

    def turn_marks(self, template: str) -> list[str]:
        """The written forms of tokens in a template that look like marks of turns though the
        vocabulary does not call them control tokens: they become tokens in ordinary text too."""
        marks = []
        for token in set(self.tokenize(template, special=True)):
            attributes: int = self._api.llama_vocab_get_attr(self._vocab, token)
            text = self.text_of(token)
            if attributes & _ATTRIBUTE_USER_DEFINED and text[:1] in ("<", "["):
                marks.append(text)
        return sorted(mark for mark in marks if len(mark) > 2)

    def _is_control(self, token: int) -> bool:
        attributes: int = self._api.llama_vocab_get_attr(self._vocab, token)
        return bool(attributes & (_ATTRIBUTE_CONTROL | _ATTRIBUTE_UNKNOWN))

    @functools.cached_property
    def fingerprint(self) -> str:
        """The hash (16 hexadecimal digits) that says two models share a vocabulary: taken over
        the kind of vocabulary, its size, its special tokens and the text of all tokens."""
        head = (
            f"{self._api.llama_vocab_type(self._vocab)} {self.size} {self.adds_start} "
            f"{self.start} {self.end} "
        )
        return hashlib.sha256(head.encode() + self._text_of_all()).hexdigest()[:16]

    def _text_of_all(self) -> bytes:
        # One call for the whole vocabulary: a call a token takes a third of a second at 150,000.
        tokens = (ctypes.c_int32 * self.size)(*range(self.size))
        room = 16 * self.size
        while True:
            buffer = ctypes.create_string_buffer(room)
            count: int = self._api.llama_detokenize(
                self._vocab, tokens, self.size, buffer, room, False, True
            )
            if count >= 0:
                return buffer.raw[:count]
            room = -count


class PieceDecoder:
    """Joins the bytes of tokens to text; a character split over tokens appears once complete."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, piece: bytes) -> str:
        """The text that became complete with these bytes."""
        return self._decoder.decode(piece)

    def finish(self) -> str:
        """What is left at the end: U+FFFD for an unfinished character, or nothing."""
        return self._decoder.decode(b"", final=True)


def _as_utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        # Paired surrogates, as a paste may hold them, are characters; lone ones are not.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")
