"""The layout of a GGUF header: from bytes to metadata and the place where the last tensor ends.

The long arrays (the vocabulary, its merges) are stepped over, the tensor data is not touched, and
no damaged length costs memory or time.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from sssd_chat.llama.file_bytes import FileBytes

MAGIC = b"GGUF"
"""The first bytes of every file."""

VERSIONS = (2, 3)
"""The versions of the format that can be read."""

MetadataValue = str | int | float | bool | tuple[str, ...] | tuple[int | float, ...]
"""What a metadata key holds, once read."""

KEPT_TEXT = 1 << 16
"""Bytes of the longest metadata text that is kept: room for a chat template."""

KEPT_NUMBERS = 1024
"""Length of the longest array of numbers that is kept: room for one value a layer."""

KEPT_TEXTS = 64
"""Length of the longest array of texts that is kept: room for tags, not for a vocabulary."""

_KEPT_IN_ALL = 1 << 24
"""Bytes of names and texts that are kept of one file; what comes after is passed over."""

# Limits that no real file comes near. They keep a damaged length from costing time or memory.
_LONGEST_TEXT = 1 << 26
_LONGEST_NAME = (1 << 16) - 1
_MOST_KEYS = 1 << 16
_MOST_TENSORS = 1 << 17
MOST_TEXTS = 1 << 22
_LARGEST_TENSOR = 1 << 46
_LONGEST_JUMP = 1 << 30

# Larger windows than this are slower: their arrays do not fit the fast caches.
_WINDOW = 1 << 16
_WORTHWHILE = 1 << 10

_DEFAULT_ALIGNMENT = 32
_MOST_DIMENSIONS = 4

_TEXT_TYPE, _ARRAY_TYPE = 8, 9
_NUMBER_TYPES = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}

# By tensor type: (values in a block, bytes of a block).
BLOCKS = {
    0: (1, 4),  # F32
    1: (1, 2),  # F16
    2: (32, 18),  # Q4_0
    3: (32, 20),  # Q4_1
    6: (32, 22),  # Q5_0
    7: (32, 24),  # Q5_1
    8: (32, 34),  # Q8_0
    10: (256, 84),  # Q2_K
    11: (256, 110),  # Q3_K
    12: (256, 144),  # Q4_K
    13: (256, 176),  # Q5_K
    14: (256, 210),  # Q6_K
    16: (256, 66),  # IQ2_XXS
    17: (256, 74),  # IQ2_XS
    18: (256, 98),  # IQ3_XXS
    19: (256, 50),  # IQ1_S
    20: (32, 18),  # IQ4_NL
    21: (256, 110),  # IQ3_S
    22: (256, 82),  # IQ2_S
    23: (256, 136),  # IQ4_XS
    24: (1, 1),  # I8
    25: (1, 2),  # I16
    26: (1, 4),  # I32
    27: (1, 8),  # I64
    28: (1, 8),  # F64
    29: (256, 56),  # IQ1_M
    30: (1, 2),  # BF16
    34: (256, 54),  # TQ1_0
    35: (256, 66),  # TQ2_0
    39: (32, 17),  # MXFP4
    40: (64, 36),  # NVFP4
    41: (128, 18),  # Q1_0
    42: (64, 18),  # Q2_0
}

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class DamagedError(Exception):
    """The header says something impossible; the message says what."""


class CutShortError(Exception):
    """The file ends inside its header."""


class _LongList(Exception):
    """A list of texts was reached that is not to be gone past."""


@dataclass(slots=True)
class Contents:
    """What one file holds, before it is known whether it is a whole model."""

    metadata: dict[str, MetadataValue] = field(default_factory=dict)
    array_lengths: dict[str, int] = field(default_factory=dict)
    tensor_count: int = 0
    parameter_count: int = 0
    file_bytes: int = 0
    expected_bytes: int = 0
    is_whole: bool = True
    """Whether all of it was read; without, tensors and what they say are missing, and keys."""
    tensor_bytes: dict[str, int] = field(default_factory=dict)
    """Bytes of each block ("blk.7") and of each tensor outside of one ("token_embd"); empty when a
    tensor is of a type that is not known here."""


def read_version(data: FileBytes) -> int:
    """The version of the format, which decides whether the rest can be read."""
    return _Cursor(data, len(MAGIC)).u32()


def read_contents(data: FileBytes, whole: bool = True) -> Contents:
    """Read a header of a version in VERSIONS, or, unless `whole`, up to its first long list of
    texts: to go past a vocabulary takes all but a little of the time. Raises DamagedError and
    CutShortError."""
    cursor = _Cursor(data, len(MAGIC) + 4)
    contents = Contents(file_bytes=len(data))
    tensor_count, key_count = cursor.u64(), cursor.u64()
    if tensor_count > _MOST_TENSORS or key_count > _MOST_KEYS:
        raise DamagedError(f"it announces {tensor_count:,} tensors and {key_count:,} keys")
    try:
        for _ in range(key_count):
            _read_key(cursor, contents, whole)
    except _LongList:
        contents.tensor_count, contents.is_whole = tensor_count, False
        return contents
    _read_tensors(cursor, contents, tensor_count)
    return contents


class _Cursor:
    """A place in the file. Reading past its end raises CutShortError."""

    __slots__ = ("_data", "_kept_left", "_size", "_texts_left", "position")

    def __init__(self, data: FileBytes, position: int) -> None:
        self._data = data
        self._size = len(data)
        self._texts_left = MOST_TEXTS
        self._kept_left = _KEPT_IN_ALL
        self.position = position

    def skip(self, count: int) -> None:
        """Go on by `count` bytes."""
        self.position += count
        if self.position > self._size + _LONGEST_JUMP:
            raise DamagedError("a length is impossible")
        if self.position > self._size:
            raise CutShortError

    def u32(self) -> int:
        """A number of 4 bytes."""
        start = self.position
        self.skip(_U32.size)
        value: int = _U32.unpack(self._data.between(start, self.position))[0]
        return value

    def u64(self) -> int:
        """A number of 8 bytes."""
        start = self.position
        self.skip(_U64.size)
        value: int = _U64.unpack(self._data.between(start, self.position))[0]
        return value

    def numbers(self, code: str, count: int) -> tuple[int | float, ...]:
        """`count` numbers of the struct type `code`."""
        layout = struct.Struct(f"<{count}{code}")
        start = self.position
        self.skip(layout.size)
        return layout.unpack(self._data.between(start, self.position))

    def text(self, limit: int) -> str | None:
        """A text; None, passed over, when it is longer than `limit` bytes, or when so much was kept
        already that no real file comes near."""
        length = self.u64()
        if length > _LONGEST_TEXT:
            raise DamagedError(f"a text claims to be {length:,} bytes long")
        start = self.position
        self.skip(length)
        if length > min(limit, self._kept_left):
            return None
        self._kept_left -= length
        return self._data.between(start, self.position).decode("utf-8", "replace")

    def name(self) -> str:
        """The name of a key or of a tensor."""
        name = self.text(_LONGEST_NAME)
        if not name:
            raise DamagedError("a name is empty, or names are far too long")
        return name

    def skip_texts(self, count: int) -> None:
        """Go past `count` texts: all but a little of the time that a header takes."""
        self._texts_left -= count
        if self._texts_left < 0:
            raise DamagedError(f"a list claims to have {count:,} entries")
        steps = 1
        while count:
            passed = self._skip_short_texts(count)
            # Where texts are long, or hold zeros, looking for short ones is wasted: do it less.
            steps = 1 if passed > _WORTHWHILE else 2 * steps
            walked = min(steps, count - passed)
            self._walk_texts(walked)
            count -= passed + walked

    def _skip_short_texts(self, most: int) -> int:
        """Go past texts of less than 256 bytes, many at once; how many.

        Seven zeros that follow a byte are hardly ever anything else than the length of such a text.
        If each such place lies where the text of the one before it ends, they are lengths.
        """
        end = min(self.position + _WINDOW, self._size)
        window = self._data.between(self.position, end)
        if len(window) < _U64.size:
            return 0
        numbers = np.ndarray(len(window) - _U64.size + 1, "<u8", window, strides=(1,))
        places = np.flatnonzero(numbers < 256)
        if not len(places) or places[0] != 0:
            return 0
        ends = places + _U64.size + numbers[places].astype(np.int64)
        broken = np.flatnonzero(ends[:-1] != places[1:])
        passed = min(most, int(broken[0]) + 1 if len(broken) else len(places))
        self.skip(int(ends[passed - 1]))
        return passed

    def _walk_texts(self, count: int) -> None:
        position, length_at = self.position, _U64.unpack_from
        while count and position + _U64.size <= self._size:
            window = self._data.between(position, min(position + _WINDOW, self._size))
            place = walked = 0
            try:
                for walked in range(count):  # noqa: B007, it tells how far the loop came
                    place += length_at(window, place)[0] + _U64.size
                walked = count
            except (struct.error, OverflowError, IndexError):
                # The next length is not in this window.
                pass
            position += place
            count -= walked
        if count:
            # Too far for a length to be there, and by how much tells a cut from damage.
            position = max(position, self._size + 1)
        self.skip(position - self.position)


def _read_key(cursor: _Cursor, contents: Contents, whole: bool) -> None:
    key = cursor.name()
    kind = cursor.u32()
    if key in contents.metadata or key in contents.array_lengths:
        raise DamagedError(f"the key {key[:80]!r} comes twice")
    value: MetadataValue | None
    if kind == _TEXT_TYPE:
        value = cursor.text(KEPT_TEXT)
    elif kind == _ARRAY_TYPE:
        kind, count = cursor.u32(), cursor.u64()
        contents.array_lengths[key] = count
        if kind == _TEXT_TYPE and count > KEPT_TEXTS and not whole:
            raise _LongList
        value = _read_array(cursor, key, kind, count)
    else:
        value = cursor.numbers(_number_code(key, kind), 1)[0]
    if value is not None:
        contents.metadata[key] = value


def _read_array(cursor: _Cursor, key: str, kind: int, count: int) -> MetadataValue | None:
    if kind == _TEXT_TYPE:
        if count > KEPT_TEXTS:
            cursor.skip_texts(count)
            return None
        return tuple(cursor.text(KEPT_TEXT) or "" for _ in range(count))
    code = _number_code(key, kind)
    if count > KEPT_NUMBERS:
        cursor.skip(count * struct.calcsize(f"<{code}"))
        return None
    return cursor.numbers(code, count)


def _number_code(key: str, kind: int) -> str:
    code = _NUMBER_TYPES.get(kind)
    if code is None:
        raise DamagedError(f"the key {key[:80]!r} has the unknown type {kind}")
    return code


def _read_tensors(cursor: _Cursor, contents: Contents, count: int) -> None:
    alignment = contents.metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise DamagedError(f"the alignment is {str(alignment)[:80]}")
    contents.tensor_count = count
    end: int | None = 0
    last_offset = last_size = 0
    for _ in range(count):
        name = cursor.name()
        dimensions = cursor.u32()
        if dimensions > _MOST_DIMENSIONS:
            raise DamagedError(f"the tensor {name[:80]!r} has {dimensions} dimensions")
        shape = [cursor.u64() for _ in range(dimensions)]
        kind, last_offset = cursor.u32(), cursor.u64()
        values, size = _tensor_size(name, shape, kind)
        contents.parameter_count += values
        part = _part_of(name)
        contents.tensor_bytes[part] = contents.tensor_bytes.get(part, 0) + (size or 0)
        if end is not None and last_offset != end:
            raise DamagedError(f"the tensor {name[:80]!r} is not where the one before it ends")
        # Past a tensor of a type that is newer than this table, ends are unknown.
        end = None if end is None or size is None else _aligned(end + size, alignment)
        last_size = size or 0
    if end is None:
        contents.tensor_bytes.clear()
    data_start = _aligned(cursor.position, alignment) if count else cursor.position
    contents.expected_bytes = data_start + last_offset + last_size


def _part_of(name: str) -> str:
    """The block that a tensor belongs to, or else its own name, without what follows a point."""
    words = name.split(".", 2)
    return f"blk.{words[1]}" if words[0] == "blk" and len(words) == 3 else words[0]


def _tensor_size(name: str, shape: list[int], kind: int) -> tuple[int, int | None]:
    """The numbers in a tensor and its bytes; None for a type that is not known here."""
    values = 1
    for extent in shape:
        values *= extent
    if values > _LARGEST_TENSOR:
        raise DamagedError(f"the tensor {name[:80]!r} has {values:,} values")
    if kind not in BLOCKS:
        return values, None
    block, block_bytes = BLOCKS[kind]
    if shape and shape[0] % block:
        raise DamagedError(f"the tensor {name[:80]!r} does not consist of whole blocks")
    return values, values // block * block_bytes


def _aligned(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment
