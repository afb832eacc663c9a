"""A segment: a run of documents with its suffix array, in memory or mapped from a file."""

from __future__ import annotations

import bisect
import functools
import struct
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from sssd_chat.datastore.document import Document, Label, joined
from sssd_chat.datastore.suffix_array import (
    END,
    TOKEN_BYTES,
    Search,
    Tokens,
    sort_suffixes,
)

_TOKEN_SHIFT = 2
_unpack = struct.Struct(">I").unpack_from

Range = tuple[int, int]
"""First place in the suffix array, and number of places."""


class Segment:
    """Never changes, but for documents that are struck out of its answers."""

    def __init__(
        self,
        collection: str,
        text: npt.NDArray[np.uint8],
        order: npt.NDArray[np.int32],
        starts: npt.NDArray[np.uint32],
        read_labels: Callable[[], Sequence[Label]],
        file: str = "",
    ) -> None:
        """`text` are big-endian tokens, `order` is their suffix array in byte offsets, `starts`
        has the first token of each document and the length of the text. `read_labels` gives the
        labels of the documents when they are asked for. `file` is the name of the file that the
        arrays are mapped from; empty for memory."""
        self.collection = collection
        self.file = file
        self.starts = starts
        self.text = text
        self.order = order
        self._read_labels = read_labels
        # Memory views give single values several times faster than arrays do.
        self._text_view = text.data
        self._order_view = order.data.cast("B").cast("i")
        self._starts_view = starts.data.cast("B").cast("I")
        self._struck: npt.NDArray[np.bool_] | None = None
        self.find: Callable[[bytes], Range] = Search(
            text.ctypes.data, order.ctypes.data, len(order)
        ).find
        """See Search.find."""

    @staticmethod
    def of(collection: str, documents: Sequence[Document]) -> Segment:
        """A segment in memory. Raises ValueError when it would be too large."""
        tokens, starts = joined(documents)
        labels = tuple(document.label for document in documents)
        text = tokens.astype(">u4").view(np.uint8)
        return Segment(collection, text, sort_suffixes(tokens), starts, lambda: labels)

    @staticmethod
    def merged(segments: Sequence[Segment]) -> Segment:
        """One segment in memory of what is not struck out in `segments`, of one collection.
        Raises ValueError when it would be too large."""
        texts, lengths, labels = [], [], []
        for segment in segments:
            counts = segment.lengths
            words = segment.text.view(">u4")
            gone = segment._struck
            if gone is not None:
                words, counts = words[np.repeat(~gone, counts)], counts[~gone]
            texts.append(words.astype(np.uint32))
            lengths.append(counts)
            labels += segment.live_labels()
        text = np.concatenate(texts)
        starts = np.concatenate([[0], *lengths]).cumsum().astype(np.uint32)
        order = sort_suffixes(text)
        merged = text.astype(">u4").view(np.uint8)
        return Segment(segments[0].collection, merged, order, starts, lambda: labels)

    def __len__(self) -> int:
        """Tokens, the ends of documents included."""
        return len(self.order)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each document, its end included."""
        starts = self.starts.astype(np.int64)
        return starts[1:] - starts[:-1]

    @functools.cached_property
    def labels(self) -> Sequence[Label]:
        """The labels of all its documents, struck ones too, in order."""
        return self._read_labels()

    # Striking out

    @property
    def struck(self) -> list[int]:
        """Numbers of the documents that are struck out, in order."""
        return [] if self._struck is None else np.flatnonzero(self._struck).tolist()

    def strike(self, numbers: Collection[int]) -> None:
        """Takes documents out of all answers from now on."""
        if numbers:
            # A new array: a reader in another thread may be looking at the old one.
            struck = np.zeros(len(self.starts) - 1, np.bool_)
            if self._struck is not None:
                struck |= self._struck
            struck[list(numbers)] = True
            self._struck = struck

    @property
    def struck_tokens(self) -> int:
        """Tokens of the documents that are struck out."""
        if self._struck is None:
            return 0
        return int(self.lengths[self._struck].sum())

    def live_labels(self) -> list[Label]:
        """The labels of the documents that are not struck out."""
        gone = set(self.struck)
        return [label for number, label in enumerate(self.labels) if number not in gone]

    def documents(self) -> Iterator[Document]:
        """The documents that are not struck out."""
        gone = set(self.struck)
        for number, label in enumerate(self.labels):
            if number not in gone:
                yield Document(label, self.tokens_of(number))

    def tokens_of(self, number: int) -> Tokens:
        """The tokens of a document."""
        start, end = int(self.starts[number]), int(self.starts[number + 1]) - 1
        values = self.text[start * TOKEN_BYTES : end * TOKEN_BYTES].view(">u4")
        return values.astype(np.uint32)

    # Searching

    def ranges(self, context: bytes, longest: int) -> list[Range]:
        """Where the last 1, 2, … tokens of `context` (big-endian) are in the suffix array, up to
        `longest` or to the first that is nowhere."""
        found: list[Range] = []
        find = self.find
        for length in range(1, min(longest, len(context) // TOKEN_BYTES) + 1):
            place = find(context[-length * TOKEN_BYTES :])
            if place[1] < 1:
                break
            found.append(place)
        return found

    def followers(self, place: Range, length: int, most: int) -> list[tuple[int, int]]:
        """(position, token) of what follows a match of `length` tokens, in the order of the text:
        all of it, or `most` at a fixed stride across the suffix array. Ends of documents and
        struck documents give nothing."""
        left, count = place
        order, text, skip = self._order_view, self._text_view, length * TOKEN_BYTES
        if count <= most:
            offsets = [offset + skip for offset in order[left : left + count]]
        else:
            offsets = [order[left + index * count // most] + skip for index in range(most)]
        offsets.sort()
        found = [
            (offset >> _TOKEN_SHIFT, token)
            for offset in offsets
            if (token := _unpack(text, offset)[0]) != END
        ]
        if self._struck is not None:
            struck = self._struck
            found = [item for item in found if not struck[self.number_at(item[0])]]
        return found

    def token_at(self, position: int) -> int:
        """The token at `position`, or END."""
        token: int = _unpack(self._text_view, position * TOKEN_BYTES)[0]
        return token

    def number_at(self, position: int) -> int:
        """The number of the document that the token at `position` belongs to."""
        return bisect.bisect_right(self._starts_view, position) - 1

    def label_at(self, position: int) -> Label:
        """The label of the document that the token at `position` belongs to."""
        return self.labels[self.number_at(position)]

    # Looking after it

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory of its own; a mapped segment has next to none."""
        return 0 if self.file else self.text.nbytes + self.order.nbytes + self.starts.nbytes

    def check_integrity(self) -> str | None:
        """What is wrong with it, in a few words; None when all is well."""
        size = len(self)
        if len(self.text) != size * TOKEN_BYTES or int(self.starts[-1]) != size:
            return "its parts differ in length"
        if (self.lengths < 1).any():
            return "its documents overlap"
        if len(self.labels) != len(self.starts) - 1:
            return "it names more or fewer documents than it has"
        words = self.text.view(">u4")
        if (words[self.starts[1:] - np.uint32(1)] != END).any() or int(
            np.count_nonzero(words == END)
        ) != len(self.labels):
            return "a document has no end"
        seen = np.zeros(size, np.bool_)
        offsets = np.asarray(self.order)
        if size and (offsets.min() < 0 or offsets.max() >= size * TOKEN_BYTES):
            return "its suffix array points outside the text"
        if (offsets % TOKEN_BYTES).any():
            return "its suffix array points into the middle of a token"
        seen[offsets // TOKEN_BYTES] = True
        if not seen.all():
            return "its suffix array leaves tokens out"
        return self._check_order(words, offsets // TOKEN_BYTES)

    @staticmethod
    def _check_order(words: npt.NDArray[np.uint32], places: npt.NDArray[np.int32]) -> str | None:
        """The array is sorted when neighbours are in order by their first token and, where these
        are equal, by the rank of what follows."""
        size = len(places)
        rank = np.empty(size + 1, np.int64)
        rank[places] = np.arange(size)
        rank[size] = -1
        first = words[places]
        rest = rank[places + 1]
        falls = first[1:] < first[:-1]
        ties = (first[1:] == first[:-1]) & (rest[1:] < rest[:-1])
        return "its suffix array is out of order" if (falls | ties).any() else None
