"""Reads the header of a GGUF file: what a model is, and whether the file is whole.

llama.cpp reports a broken file as a null pointer and some lines of log. Reading the header first costs
a few milliseconds and lets every kind of broken file be told in one sentence. The long arrays (the
vocabulary, its merges) are stepped over and the tensor data is not touched.
"""

from __future__ import annotations

import mmap
import re
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

from sssd_chat.errors import UserError

MetadataValue = str | int | float | bool | tuple[str, ...] | tuple[int | float, ...]
"""What a metadata key holds, once read."""

KEPT_TEXT = 1 << 16
"""Bytes of the longest metadata text that is kept: room for a chat template."""

KEPT_NUMBERS = 1024
"""Length of the longest array of numbers that is kept: room for one value a layer."""

KEPT_TEXTS = 64
"""Length of the longest array of texts that is kept: room for tags, not for a vocabulary."""

# Limits that no real file comes near. They keep a damaged length from costing time or memory.
_LONGEST_TEXT = 1 << 26
_LONGEST_NAME = (1 << 16) - 1
_MOST_KEYS = 1 << 16
_MOST_TENSORS = 1 << 17
_MOST_TEXTS = 1 << 22
_LARGEST_TENSOR = 1 << 46

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
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
_BLOCKS = {
    0: (1, 4),  # F32
    1: (1, 2),  # F16
    2: (32, 18),  # Q4_0
    3: (32, 20),  # Q4_1
    6: (32, 22),  # Q5_0
    7: (32, 24),  # Q5_1
    8: (32, 34),  # Q8_0
    9: (32, 36),  # Q8_1
    10: (256, 84),  # Q2_K
    11: (256, 110),  # Q3_K
    12: (256, 144),  # Q4_K
    13: (256, 176),  # Q5_K
    14: (256, 210),  # Q6_K
    15: (256, 292),  # Q8_K
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
}

_QUANTIZATIONS = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4",
    39: "NVFP4",
    40: "Q1_0",
    41: "Q2_0",
}
_GUESSED = 1024

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class ModelFileError(UserError):
    """A model file that cannot be used: missing, not a GGUF, damaged or cut short."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a GGUF file says of itself.

    Of a model split over several files, this is the first; `model_bytes` counts them all.
    """

    path: Path
    version: int
    architecture: str
    metadata: Mapping[str, MetadataValue]
    """Numbers, texts and arrays; without texts over KEPT_TEXT and arrays over KEPT_NUMBERS/TEXTS."""
    array_lengths: Mapping[str, int]
    """The length of every array, kept or not."""
    tensor_count: int
    parameter_count: int
    """Numbers in all tensors of this file."""
    file_bytes: int
    expected_bytes: int
    """Where the last tensor ends; never more than `file_bytes`."""
    model_bytes: int
    """Size of the file and of the other files it is split into."""
    parts: int
    """Files that the model is split into; 1 if it is not."""

    @property
    def name(self) -> str:
        """The name that the file gives its model, or that of the file."""
        name = self.metadata.get("general.name")
        return name if isinstance(name, str) and name.strip() else self.path.stem

    @property
    def context_length(self) -> int | None:
        """The context that the model was trained for, in tokens."""
        return self._count("context_length")

    @property
    def vocabulary_size(self) -> int | None:
        """Tokens in the vocabulary."""
        return self.array_lengths.get("tokenizer.ggml.tokens")

    @property
    def quantization(self) -> str | None:
        """How the weights are stored, such as "Q4_K_M"; None when the file does not say."""
        file_type = self.metadata.get("general.file_type")
        if not isinstance(file_type, int):
            return None
        return _QUANTIZATIONS.get(file_type & ~_GUESSED)

    def _count(self, key: str) -> int | None:
        value = self.metadata.get(f"{self.architecture}.{key}")
        return value if isinstance(value, int) and value > 0 else None


def read_header(path: Path) -> GgufHeader:
    """Read the header of a model file and check that the file is whole.

    Of a split model, the path must be that of the first part, and all the parts are checked. Raises
    ModelFileError with a sentence that says what is wrong with the file.
    """
    contents = _read_contents(path)
    architecture = contents.metadata.get("general.architecture")
    if not isinstance(architecture, str) or not architecture:
        raise ModelFileError(f"{path} does not say which architecture it is; it is not a model.")
    parts = _other_parts(path, contents)
    if not contents.tensor_count and not parts:
        raise ModelFileError(f"{path} holds a vocabulary but no weights; it is not a whole model.")
    others = [_read_contents(part).file_bytes for part in parts]
    return GgufHeader(
        path=path,
        version=contents.version,
        architecture=architecture,
        metadata=contents.metadata,
        array_lengths=contents.array_lengths,
        tensor_count=contents.tensor_count,
        parameter_count=contents.parameter_count,
        file_bytes=contents.file_bytes,
        expected_bytes=contents.expected_bytes,
        model_bytes=contents.file_bytes + sum(others),
        parts=1 + len(others),
    )


class _DamagedError(Exception):
    """The header says something impossible; the message says what."""


class _CutShortError(Exception):
    """The file ends inside its header."""


@dataclass(slots=True)
class _Contents:
    """What one file holds, before it is known whether it is a whole model."""

    file_bytes: int
    version: int = 0
    metadata: dict[str, MetadataValue] = field(default_factory=dict)
    array_lengths: dict[str, int] = field(default_factory=dict)
    tensor_count: int = 0
    parameter_count: int = 0
    expected_bytes: int = 0


def _read_contents(path: Path) -> _Contents:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise ModelFileError(_about_folder(path))
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError(f"{path} is not a regular file; a model is a GGUF file.")
        if status.st_size == 0:
            raise ModelFileError(f"{path} is empty; download it again.")
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ):
            return _parse(path, data)
    except FileNotFoundError:
        raise ModelFileError(f"There is no file {path}; check the path.") from None
    except (OSError, ValueError) as error:
        # ValueError is a path with a NUL inside, or a file that was emptied meanwhile.
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ModelFileError(f"{path} cannot be read: {reason.lower()}.") from error


def _about_folder(path: Path) -> str:
    models = sorted(file.name for file in path.glob("*.gguf"))
    if not models:
        return f"{path} is a folder without GGUF files; give the path of a model file."
    shown = ", ".join(models[:3]) + (", …" if len(models) > 3 else "")
    return f"{path} is a folder; give the path of a model in it: {shown}."


def _parse(path: Path, data: mmap.mmap) -> _Contents:
    start = data[:24]
    if start[: len(_MAGIC)] != _MAGIC[: len(start)]:
        raise ModelFileError(f"{path} is not a GGUF file: it starts with {_printable(start)}.")
    contents = _Contents(file_bytes=len(data))
    try:
        cursor = _Cursor(data)
        cursor.skip(len(_MAGIC))
        contents.version = cursor.u32()
        _check_version(path, contents.version)
        tensor_count, key_count = cursor.u64(), cursor.u64()
        if tensor_count > _MOST_TENSORS or key_count > _MOST_KEYS:
            raise _DamagedError(f"it announces {tensor_count:,} tensors and {key_count:,} keys")
        for _ in range(key_count):
            _read_key(cursor, contents)
        _read_tensors(cursor, contents, tensor_count)
    except _DamagedError as damage:
        raise ModelFileError(
            f"{path} is damaged: in its header, {damage}; download it again."
        ) from None
    except (_CutShortError, struct.error):
        raise ModelFileError(
            f"{path} ends after {_amount(len(data))}, inside its header: the download seems "
            "incomplete."
        ) from None
    if contents.expected_bytes > contents.file_bytes:
        raise ModelFileError(_about_missing_bytes(path, contents))
    return contents


def _printable(start: bytes) -> str:
    text = start.decode("ascii", "replace").replace("\ufffd", "?")
    return repr("".join(character if character.isprintable() else "?" for character in text))


def _check_version(path: Path, version: int) -> None:
    if version in _VERSIONS:
        return
    # The format has no mark of its byte order; a small number that comes out huge tells.
    if version & 0xFFFF == 0 and version:
        raise ModelFileError(f"{path} is a big-endian GGUF file, which llama.cpp cannot load here.")
    if version < min(_VERSIONS):
        raise ModelFileError(
            f"{path} has version {version} of the GGUF format, which is no longer supported; "
            "download a newer conversion of the model."
        )
    raise ModelFileError(
        f"{path} has version {version} of the GGUF format, and this program knows it up to "
        f"{max(_VERSIONS)}; update sssd-chat."
    )


def _about_missing_bytes(path: Path, contents: _Contents) -> str:
    have, whole = _amount(contents.file_bytes), _amount(contents.expected_bytes)
    if have == whole:
        have, whole = f"{contents.file_bytes:,}", f"{contents.expected_bytes:,} bytes"
    return f"{path} ends after {have} of {whole}: the download seems incomplete."


def _amount(count: int) -> str:
    """A number of bytes for people, such as "1.12 GB"."""
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if count >= 1000**power:
            return f"{count / 1000**power:.3g} {unit}"
    return f"{count} bytes"


class _Cursor:
    """A place in the file. Reading past its end raises _CutShortError or struct.error."""

    __slots__ = ("_data", "_size", "_texts_left", "position")

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._size = len(data)
        self._texts_left = _MOST_TEXTS
        self.position = 0

    def skip(self, count: int) -> None:
        """Go on by `count` bytes."""
        self.position += count
        self._stay_inside()

    def u32(self) -> int:
        """A number of 4 bytes."""
        value: int = _U32.unpack_from(self._data, self.position)[0]
        self.position += 4
        return value

    def u64(self) -> int:
        """A number of 8 bytes."""
        value: int = _U64.unpack_from(self._data, self.position)[0]
        self.position += 8
        return value

    def numbers(self, code: str, count: int) -> tuple[int | float, ...]:
        """`count` numbers of the struct type `code`."""
        format_ = f"<{count}{code}"
        values = struct.unpack_from(format_, self._data, self.position)
        self.position += struct.calcsize(format_)
        return values

    def text(self, limit: int) -> str | None:
        """A text; None, passed over, when it is longer than `limit` bytes."""
        length = self.u64()
        if length > _LONGEST_TEXT:
            raise _DamagedError(f"a text claims to be {length:,} bytes long")
        start = self.position
        self.skip(length)
        if length > limit:
            return None
        return self._data[start : self.position].decode("utf-8", "replace")

    def name(self) -> str:
        """The name of a key or of a tensor."""
        name = self.text(_LONGEST_NAME)
        if not name:
            raise _DamagedError("a name is empty or far too long")
        return name

    def skip_texts(self, count: int) -> None:
        """Go past `count` texts: the longest part of reading a header, so nothing else is done."""
        self._texts_left -= count
        if self._texts_left < 0:
            raise _DamagedError(f"a list claims to have {count:,} entries")
        data, position, length_at = self._data, self.position, _U64.unpack_from
        try:
            for _ in repeat(None, count):
                position += length_at(data, position)[0] + 8
        except (struct.error, IndexError):
            # The position names what went wrong: see _stay_inside.
            self.position = max(position, self._size + 1)
        else:
            self.position = position
        self._stay_inside()

    def _stay_inside(self) -> None:
        if self.position > self._size + _LARGEST_TENSOR:
            raise _DamagedError("a length is impossible")
        if self.position > self._size:
            raise _CutShortError


def _read_key(cursor: _Cursor, contents: _Contents) -> None:
    key = cursor.name()
    kind = cursor.u32()
    if key in contents.metadata or key in contents.array_lengths:
        raise _DamagedError(f"the key {key!r} comes twice")
    value: MetadataValue | None
    if kind == _TEXT_TYPE:
        value = cursor.text(KEPT_TEXT)
    elif kind == _ARRAY_TYPE:
        kind, count = cursor.u32(), cursor.u64()
        contents.array_lengths[key] = count
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
        raise _DamagedError(f"the key {key[:80]!r} has the unknown type {kind}")
    return code


def _read_tensors(cursor: _Cursor, contents: _Contents, count: int) -> None:
    alignment = contents.metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise _DamagedError(f"the alignment is {str(alignment)[:80]}")
    contents.tensor_count = count
    end: int | None = 0
    last_offset = last_size = 0
    for _ in range(count):
        name = cursor.name()
        dimensions = cursor.u32()
        if dimensions > _MOST_DIMENSIONS:
            raise _DamagedError(f"the tensor {name[:80]!r} has {dimensions} dimensions")
        shape = [cursor.u64() for _ in range(dimensions)]
        kind, last_offset = cursor.u32(), cursor.u64()
        values, size = _tensor_size(name, shape, kind)
        contents.parameter_count += values
        if end is not None and last_offset != end:
            raise _DamagedError(f"the tensor {name[:80]!r} is not where the one before it ends")
        # Past a tensor of a type that is newer than this table, ends are unknown.
        end = None if end is None or size is None else _aligned(end + size, alignment)
        last_size = size or 0
    data_start = _aligned(cursor.position, alignment) if count else cursor.position
    contents.expected_bytes = data_start + last_offset + last_size


def _tensor_size(name: str, shape: list[int], kind: int) -> tuple[int, int | None]:
    """The numbers in a tensor and its bytes; None for a type that is not known here."""
    values = 1
    for extent in shape:
        values *= extent
    if values > _LARGEST_TENSOR:
        raise _DamagedError(f"the tensor {name[:80]!r} has {values:,} values")
    if kind not in _BLOCKS:
        return values, None
    block, block_bytes = _BLOCKS[kind]
    if shape and shape[0] % block:
        raise _DamagedError(f"the tensor {name[:80]!r} does not consist of whole blocks")
    return values, values // block * block_bytes


def _aligned(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment


def _other_parts(path: Path, contents: _Contents) -> list[Path]:
    """The files that a model is split into besides its first, which `path` must be."""
    count, index = contents.metadata.get("split.count"), contents.metadata.get("split.no", 0)
    if not isinstance(count, int) or not isinstance(index, int) or count < 2:
        return []
    part = f"part {index + 1} of {count}"
    named = re.fullmatch(r"(.+)-\d{5}-of-\d{5}\.gguf", path.name)
    if named is None:
        raise ModelFileError(
            f"{path} is {part} of a split model, but is not named so that the other parts can be "
            f"found; it must end in -{index + 1:05}-of-{count:05}.gguf."
        )
    parts = [
        path.with_name(f"{named[1]}-{number:05}-of-{count:05}.gguf")
        for number in range(1, count + 1)
    ]
    if index != 0:
        raise ModelFileError(f"{path} is {part} of a split model; open {parts[0].name} instead.")
    for number, other in enumerate(parts[1:], start=2):
        if not other.exists():
            raise ModelFileError(
                f"{path} is {part} of a split model, and part {number}, {other.name}, is missing."
            )
    return parts[1:]
