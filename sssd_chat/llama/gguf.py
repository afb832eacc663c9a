"""Reads the header of a GGUF file: what a model is, and whether the file is whole.

llama.cpp reports a broken file as a null pointer and some lines of log. Reading the header first
costs a few milliseconds and lets every kind of broken file be told in one sentence.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path

from sssd_chat.errors import UserError
from sssd_chat.llama.file_bytes import FileBytes
from sssd_chat.llama.gguf_format import (
    MAGIC,
    VERSIONS,
    Contents,
    CutShortError,
    DamagedError,
    MetadataValue,
    read_contents,
    read_version,
)

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
_TOKENS = "tokenizer.ggml.tokens"
_BEGINNING = 1 << 15
"""Bytes in which all keys before the vocabulary mostly are."""


class ModelFileError(UserError):
    """A model file that cannot be used: missing, not a GGUF, damaged or cut short."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a GGUF file says of itself.

    Of a model split over several files, `path`, `metadata`, `file_bytes` and `expected_bytes` are
    those of the first; the counts and `model_bytes` are of all together.
    """

    path: Path
    architecture: str
    metadata: Mapping[str, MetadataValue]
    """Numbers, texts and arrays, without those longer than the limits in `gguf_format`."""
    array_lengths: Mapping[str, int]
    """The length of every array, kept or not."""
    tensor_count: int
    parameter_count: int
    """Numbers in all tensors."""
    file_bytes: int
    expected_bytes: int
    """Where the last tensor ends; never more than `file_bytes`."""
    model_bytes: int
    """Size of the file and of the other files it is split into."""
    parts: int
    """Files that the model is split into; 1 if it is not."""
    tensor_bytes: Mapping[str, int] = field(default_factory=dict)
    """Bytes of each block ("blk.7") and of each tensor outside of one ("token_embd"); empty where
    they are not known."""
    is_whole: bool = True
    """Whether all of it was read. Of a beginning, the parameters and the bytes of tensors are not
    known, nor all keys."""

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
        return self.array_lengths.get(_TOKENS)

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
    others = [_read_contents(part) for part in _other_parts(path, contents)]
    architecture = _architecture(path, contents)
    tensor_count = sum(part.tensor_count for part in (contents, *others))
    if not tensor_count:
        what = "a vocabulary, but " if "tokenizer.ggml.tokens" in contents.array_lengths else ""
        raise ModelFileError(f"{path} holds {what}no weights; it is not a whole model.")
    return GgufHeader(
        path=path,
        architecture=architecture,
        metadata=contents.metadata,
        array_lengths=contents.array_lengths,
        tensor_count=tensor_count,
        parameter_count=sum(part.parameter_count for part in (contents, *others)),
        file_bytes=contents.file_bytes,
        expected_bytes=contents.expected_bytes,
        model_bytes=sum(part.file_bytes for part in (contents, *others)),
        parts=1 + len(others),
        tensor_bytes=_together([part.tensor_bytes for part in (contents, *others)]),
    )


def read_beginning(path: Path) -> GgufHeader:
    """The header of a model file up to its vocabulary, which is most of it: read in a moment.
    Whether the file is whole is not known then, nor whether its other parts are.

    Raises ModelFileError with a sentence that says what is wrong with the file.
    """
    contents = _read_contents(path, whole=False)
    architecture = _architecture(path, contents)
    needed = (_TOKENS in contents.array_lengths, f"{architecture}.block_count" in contents.metadata)
    if contents.is_whole or not all(needed):
        # Written by another program: what matters may come after the first list.
        return read_header(path)
    others = list(_other_parts(path, contents))
    return GgufHeader(
        path=path,
        architecture=architecture,
        metadata=contents.metadata,
        array_lengths=contents.array_lengths,
        tensor_count=contents.tensor_count,
        parameter_count=0,
        file_bytes=contents.file_bytes,
        expected_bytes=contents.file_bytes,
        model_bytes=contents.file_bytes + sum(part.stat().st_size for part in others),
        parts=1 + len(others),
        is_whole=False,
    )


def _architecture(path: Path, contents: Contents) -> str:
    architecture = contents.metadata.get("general.architecture")
    if not isinstance(architecture, str) or not architecture:
        raise ModelFileError(f"{path} does not say which architecture it is; it is not a model.")
    return architecture


def _together(parts: list[dict[str, int]]) -> dict[str, int]:
    """The bytes of all files together; empty when those of one are not known."""
    found: dict[str, int] = {}
    for one in parts:
        for part, size in one.items():
            found[part] = found.get(part, 0) + size
    return found if all(parts) else {}


def _read_contents(path: Path, whole: bool = True) -> Contents:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise ModelFileError(_about_folder(path))
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError(f"{path} is not a regular file; a model is a GGUF file.")
        if status.st_size == 0:
            raise ModelFileError(f"{path} is empty; download it again.")
        # Not buffered: blocks are read here and there.
        with path.open("rb", 0) as file:
            return _parse(path, _bytes_of(file, status.st_size, whole), whole)
    except FileNotFoundError:
        raise ModelFileError(f"There is no file {path}; check the path.") from None
    except (OSError, ValueError) as error:
        # ValueError is a path with a NUL inside.
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ModelFileError(f"{path} cannot be read: {reason.lower()}.") from error


def _bytes_of(file: FileIO, size: int, whole: bool) -> FileBytes:
    return FileBytes(file, size) if whole else FileBytes(file, size, _BEGINNING)


def _about_folder(path: Path) -> str:
    models = sorted(file.name for file in path.glob("*.gguf"))
    if not models:
        return f"{path} is a folder without GGUF files; give the path of a model file."
    shown = ", ".join(models[:3]) + (", …" if len(models) > 3 else "")
    return f"{path} is a folder; give the path of a model in it: {shown}."


def _parse(path: Path, data: FileBytes, whole: bool) -> Contents:
    try:
        start = data.between(0, min(24, len(data)))
        if start[: len(MAGIC)] != MAGIC[: len(start)]:
            raise ModelFileError(f"{path} is not a GGUF file: it starts with {_printable(start)}.")
        _check_version(path, read_version(data))
        contents = read_contents(data, whole)
    except DamagedError as damage:
        raise ModelFileError(
            f"{path} is damaged: in its header, {damage}; download it again."
        ) from None
    except (CutShortError, EOFError):
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
    if version in VERSIONS:
        return
    # The format has no mark of its byte order; a small number that comes out huge tells.
    if version & 0xFFFF == 0 and version:
        raise ModelFileError(f"{path} is a big-endian GGUF file, which llama.cpp cannot load here.")
    if version < min(VERSIONS):
        raise ModelFileError(
            f"{path} has version {version} of the GGUF format, which is no longer supported; "
            "download a newer conversion of the model."
        )
    raise ModelFileError(
        f"{path} has version {version} of the GGUF format, and this program knows it up to "
        f"{max(VERSIONS)}; update sssd-chat."
    )


def _about_missing_bytes(path: Path, contents: Contents) -> str:
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


def _other_parts(path: Path, contents: Contents) -> Iterator[Path]:
    """The files that a model is split into besides its first, which `path` must be."""
    count, index = contents.metadata.get("split.count"), contents.metadata.get("split.no", 0)
    if not isinstance(count, int) or not isinstance(index, int) or count < 2:
        return
    part = f"{path} is part {index + 1} of {count} of a split model"
    ending = _part_ending(index, count)
    if not path.name.endswith(ending):
        raise ModelFileError(f"{part}, but its name does not end in {ending}; rename it back.")
    stem = path.name.removesuffix(ending)
    if index != 0:
        raise ModelFileError(f"{part}; open {stem}{_part_ending(0, count)} instead.")
    for number in range(1, count):
        other = path.with_name(stem + _part_ending(number, count))
        if not other.exists():
            raise ModelFileError(f"{part}, and part {number + 1}, {other.name}, is missing.")
        yield other


def _part_ending(index: int, count: int) -> str:
    # llama.cpp finds the parts by this pattern and refuses any other name.
    return f"-{index + 1:05}-of-{count:05}.gguf"
