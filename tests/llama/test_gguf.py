"""The header reader: right about whole files, one sentence about broken ones, and never slow."""

import errno
import os
import random
import struct
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import gguf
import numpy as np
import pytest

from sssd_chat.llama import gguf_format
from sssd_chat.llama.gguf import GgufHeader, ModelFileError, read_beginning, read_header
from tests.tiny_models import CHATML_TEMPLATE, Architecture, tiny_model, vocabulary

SLOW = 10.0
"""Seconds of processor time that nothing here takes unless it goes through absurd counts."""


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def text_key(key: str, value: bytes) -> bytes:
    return text(key.encode()) + struct.pack("<I", 8) + text(value)


def number_key(key: str, value: int) -> bytes:
    return text(key.encode()) + struct.pack("<II", 4, value)


def texts_key(key: str, values: Sequence[bytes], count: int | None = None) -> bytes:
    length = len(values) if count is None else count
    return text(key.encode()) + struct.pack("<IIQ", 9, 8, length) + b"".join(map(text, values))


def tensor(name: str, shape: Sequence[int], kind: int = 0, offset: int = 0) -> bytes:
    size = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
    return text(name.encode()) + size + struct.pack("<IQ", kind, offset)


ARCHITECTURE = text_key("general.architecture", b"llama")


def file_of(
    keys: Sequence[bytes] = (ARCHITECTURE,),
    tensors: Sequence[bytes] = (tensor("w", [8]),),
    *,
    data: int = 32,
    version: int = 3,
    key_count: int | None = None,
    tensor_count: int | None = None,
) -> bytes:
    """A file made by hand; the counts may lie."""
    counts = (
        len(tensors) if tensor_count is None else tensor_count,
        len(keys) if key_count is None else key_count,
    )
    head = b"GGUF" + struct.pack("<IQQ", version, *counts) + b"".join((*keys, *tensors))
    return head + bytes(-len(head) % 32) + bytes(data)


def read(path: Path, contents: bytes) -> GgufHeader:
    path.write_bytes(contents)
    return read_header(path)


def complaint(path: Path) -> str:
    """The sentence about a file that is not usable."""
    with pytest.raises(ModelFileError) as caught:
        read_header(path)
    sentence = str(caught.value)
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence


def complaint_about(path: Path, contents: bytes) -> str:
    path.write_bytes(contents)
    return complaint(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


# Whole files.


@pytest.mark.parametrize("architecture", Architecture)
def test_header_agrees_with_the_reference_reader(
    tmp_path: Path, architecture: Architecture
) -> None:
    model = tiny_model(tmp_path, architecture, context_length=1234, chat_template=CHATML_TEMPLATE)
    reference = gguf.GGUFReader(model)
    header = read_header(model)
    assert header.architecture == architecture.value
    assert header.name == f"Tiny {architecture.value}"
    assert header.context_length == 1234
    assert header.vocabulary_size == len(vocabulary())
    assert header.quantization == "F32"
    assert header.tensor_count == len(reference.tensors)
    assert header.parameter_count == sum(int(item.n_elements) for item in reference.tensors)
    assert header.expected_bytes == max(
        int(item.data_offset + item.n_bytes) for item in reference.tensors
    )
    assert header.file_bytes == header.model_bytes == model.stat().st_size
    assert header.parts == 1
    for key, value in header.metadata.items():
        expected = reference.fields[key].contents()
        assert (list(value) if isinstance(value, tuple) else value) == expected, key
    skipped = {key for key in reference.fields if not key.startswith("GGUF.")}
    assert skipped - set(header.metadata) == {"tokenizer.ggml.tokens"}
    assert header.metadata["tokenizer.chat_template"] == CHATML_TEMPLATE


def test_reading_goes_on_in_the_right_place_after_lists_of_any_texts(path: Path) -> None:
    """Short, long and empty texts and texts with zeros, in an order that no shortcut expects."""
    chance = random.Random(5)
    kinds: tuple[Callable[[], bytes], ...] = (
        lambda: b"",
        lambda: b"\0" * chance.randrange(1, 20),
        lambda: chance.randbytes(chance.randrange(1, 12)),
        lambda: b"long" * chance.randrange(60, 200),
        lambda: struct.pack("<Q", chance.randrange(300)),
    )
    for _ in range(100):
        weights = [chance.choice((0, 1, 50)) for _ in kinds]
        weights[2] += 1
        chosen = chance.choices(kinds, weights, k=chance.randrange(65, 3000))
        entries = [make() for make in chosen]
        keys = (ARCHITECTURE, texts_key("list", entries), number_key("after", 77))
        header = read(path, file_of(keys))
        assert header.metadata["after"] == 77
        assert header.array_lengths["list"] == len(entries)
        assert "list" not in header.metadata


def test_values_of_every_type_are_read(path: Path) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint8("a.u8", 200)
    writer.add_int8("a.i8", -100)
    writer.add_uint16("a.u16", 60000)
    writer.add_int16("a.i16", -30000)
    writer.add_uint32("a.u32", 4_000_000_000)
    writer.add_int32("a.i32", -2_000_000_000)
    writer.add_uint64("a.u64", 2**63)
    writer.add_int64("a.i64", -(2**62))
    writer.add_float32("a.f32", 0.5)
    writer.add_float64("a.f64", 0.1)
    writer.add_bool("a.bool", True)
    writer.add_string("a.text", "é世🙂")
    writer.add_array("a.numbers", [3, 1, 2])
    writer.add_array("a.texts", ["en", "fr"])
    writer.add_array("a.many", list(range(gguf_format.KEPT_NUMBERS + 1)))
    writer.add_string("a.long", "x" * (gguf_format.KEPT_TEXT + 1))
    writer.add_tensor("w", np.zeros(8, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    header = read_header(path)
    found = {key: value for key, value in header.metadata.items() if key.startswith("a.")}
    assert found == {
        "a.u8": 200,
        "a.i8": -100,
        "a.u16": 60000,
        "a.i16": -30000,
        "a.u32": 4_000_000_000,
        "a.i32": -2_000_000_000,
        "a.u64": 2**63,
        "a.i64": -(2**62),
        "a.f32": 0.5,
        "a.f64": 0.1,
        "a.bool": True,
        "a.text": "é世🙂",
        "a.numbers": (3, 1, 2),
        "a.texts": ("en", "fr"),
    }
    assert header.array_lengths["a.many"] == gguf_format.KEPT_NUMBERS + 1


def test_header_of_a_large_vocabulary_is_read_quickly(path: Path) -> None:
    """150,000 tokens and as many merges take 15 ms; 40 when the machine is busy."""
    chance = random.Random(1)
    tokens = [b"x" * chance.randrange(1, 14) for _ in range(150_000)]
    tokens[90_000] = b" " * 256
    keys = (ARCHITECTURE, texts_key("tokenizer.ggml.tokens", tokens), texts_key("merges", tokens))
    path.write_bytes(file_of(keys))
    times = []
    for _ in range(5):
        start = time.process_time()
        assert read_header(path).vocabulary_size == 150_000
        times.append(time.process_time() - start)
    assert min(times) < 0.1


def test_sizes_of_tensor_types_are_the_published_ones() -> None:
    for kind, size in gguf.GGML_QUANT_SIZES.items():
        if kind.name not in ("Q8_1", "Q8_K"):  # only exist while a product is computed
            assert gguf_format.BLOCKS[kind.value] == size, kind.name


@pytest.mark.parametrize(
    "file_type", sorted(set(gguf.LlamaFileType) - {gguf.LlamaFileType.GUESSED})
)
def test_quantization_is_named_as_published(path: Path, file_type: gguf.LlamaFileType) -> None:
    published = file_type.name.removeprefix("ALL_").removeprefix("MOSTLY_").removesuffix("_MOE")
    for value in (file_type.value, file_type.value | gguf.LlamaFileType.GUESSED):
        keys = (ARCHITECTURE, number_key("general.file_type", value))
        assert read(path, file_of(keys)).quantization == published


def test_missing_or_odd_metadata_gives_a_fallback_not_an_error(path: Path) -> None:
    header = read(path, file_of())
    assert header.name == "model"
    assert header.context_length is None
    assert header.vocabulary_size is None
    assert header.quantization is None
    odd = (
        ARCHITECTURE,
        number_key("general.name", 5),
        text_key("llama.context_length", b"many"),
        number_key("general.file_type", 999),
    )
    header = read(path, file_of(odd))
    assert (header.name, header.context_length, header.quantization) == ("model", None, None)


def test_tensor_of_a_type_from_the_future_is_accepted(path: Path) -> None:
    tensors = (tensor("a", [8]), tensor("b", [8], kind=99, offset=32), tensor("c", [8], 0, 640))
    header = read(path, file_of(tensors=tensors, data=672))
    assert header.expected_bytes == header.file_bytes
    path.write_bytes(path.read_bytes()[:-1])
    assert "incomplete" in complaint(path)


# Broken files.


def test_what_is_not_a_model_file_is_told(tmp_path: Path, path: Path) -> None:
    assert "There is no file" in complaint(tmp_path / "nothing.gguf")
    assert "is a folder without GGUF files" in complaint(tmp_path)
    for name in "abcd":
        (tmp_path / f"{name}.gguf").touch()
    assert complaint(tmp_path).endswith("a.gguf, b.gguf, c.gguf, ….")
    assert "is empty" in complaint(tmp_path / "a.gguf")
    page = complaint_about(path, b"<!DOCTYPE html>\n<html>\xff\x1b[31m")
    assert "is not a GGUF file: it starts with '<!DOCTYPE html>?" in page
    assert "\x1b" not in page
    assert "not a regular file" in complaint(Path(os.devnull))


def test_file_without_permission_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(file_of())

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "open", refuse)
    assert complaint(path).endswith("cannot be read: permission denied.")


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (0, "no longer supported"),
        (1, "no longer supported"),
        (4, "update sssd-chat"),
        (3 << 24, "big-endian"),
    ],
)
def test_version_that_cannot_be_read_is_told(path: Path, version: int, words: str) -> None:
    assert words in complaint_about(path, file_of(version=version))


def test_version_2_is_read(path: Path) -> None:
    assert read(path, file_of(version=2)).architecture == "llama"


def test_file_that_is_not_a_whole_model_is_told(path: Path) -> None:
    assert "which architecture" in complaint_about(path, file_of(keys=()))
    assert "no weights" in complaint_about(path, file_of(tensors=()))


def test_half_a_download_is_told_with_both_sizes(tmp_path: Path) -> None:
    model = tiny_model(tmp_path)
    whole = model.stat().st_size
    os.truncate(model, whole // 2)
    sentence = complaint(model)
    assert f"{whole / 2000:.3g} kB of {whole / 1000:.3g} kB" in sentence
    assert "the download seems incomplete" in sentence
    os.truncate(model, whole - 1)
    os.truncate(model, whole - 1)
    assert f"{whole - 1:,} of {whole:,} bytes" in complaint(model)


def small_file() -> bytes:
    """A whole file with one of everything, small enough to break it in every place."""
    keys = (
        ARCHITECTURE,
        text_key("general.name", b"Small"),
        number_key("general.alignment", 32),
        texts_key("tags", [b"one", b"", b"three"]),
        texts_key("tokens", [b"t%d" % number for number in range(80)]),
        text(b"numbers") + struct.pack("<IIQ3f", 9, 6, 3, 0.5, 1.5, 2.5),
        text(b"flag") + struct.pack("<I?", 7, True),
    )
    return file_of(keys, (tensor("a", [4, 2]), tensor("b", [32], 8, 32)), data=32 + 34)


def test_file_cut_anywhere_is_told(path: Path) -> None:
    whole = small_file()
    assert read(path, whole).tensor_count == 2
    for size in range(len(whole) - 1, 0, -1):
        os.truncate(path, size)
        sentence = complaint(path)
        assert "the download seems incomplete" in sentence or size < 4, (size, sentence)


def test_any_changed_bytes_give_a_header_or_a_sentence_and_quickly(path: Path) -> None:
    whole = small_file()
    chance = random.Random(3)
    places = [[place] for place in range(len(whole)) for _ in range(5)]
    places += [chance.sample(range(len(whole)), chance.randrange(2, 9)) for _ in range(2000)]
    refused = 0
    path.write_bytes(whole)
    for changed in places:
        damaged = bytearray(whole)
        for place in changed:
            damaged[place] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        with path.open("r+b") as file:  # emptying it first takes most of the time
            file.write(damaged)
        start = time.process_time()
        try:
            read_header(path)
        except ModelFileError:
            refused += 1
        assert time.process_time() - start < SLOW, changed
    assert len(places) // 10 < refused < len(places)


HUGE = 2**64 - 1
NUMBERS = text(b"n") + struct.pack("<IIQ", 9, 4, HUGE)


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (file_of(key_count=HUGE), "announces"),
        (file_of(tensor_count=HUGE), "announces"),
        (file_of((ARCHITECTURE, texts_key("n", [], count=HUGE))), "a list claims"),
        (file_of((ARCHITECTURE, NUMBERS)), "a length is impossible"),
        (file_of((struct.pack("<Q", HUGE),)), "a text claims"),
        (file_of((ARCHITECTURE, text(b"k") + struct.pack("<IQ", 8, HUGE))), "a text claims"),
        (file_of((text(b"n") + struct.pack("<IIQ", 9, 9, 3),)), "unknown type 9"),
        (file_of((text(b"n") + struct.pack("<I", 77),)), "unknown type 77"),
        (file_of((text(b""),)), "name is empty"),
        (file_of((ARCHITECTURE, ARCHITECTURE)), "comes twice"),
        (file_of((ARCHITECTURE, number_key("general.alignment", 0))), "alignment is 0"),
        (file_of((ARCHITECTURE, number_key("general.alignment", 48))), "alignment is 48"),
        (file_of((text_key("general.alignment", b"x"),)), "alignment is x"),
        (file_of(tensors=(tensor("w", [1] * 5),)), "5 dimensions"),
        (file_of(tensors=(tensor("w", [HUGE, HUGE, HUGE, HUGE]),)), "values"),
        (file_of(tensors=(tensor("w", [33], 8),)), "whole blocks"),
        (file_of(tensors=(tensor("w", [8], offset=64),)), "not where"),
    ],
)
@pytest.mark.parametrize("padding", [0, 1 << 30])
def test_impossible_header_is_told_at_once_and_in_little_memory(
    path: Path, contents: bytes, words: str, padding: int
) -> None:
    path.write_bytes(contents)
    os.truncate(path, len(contents) + padding)
    tracemalloc.start()
    start = time.process_time()
    sentence = complaint(path)
    seconds, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "is damaged" in sentence and words in sentence
    assert seconds < SLOW
    assert peak < 20e6


def test_long_file_of_zeros_does_not_keep_the_reader_busy(path: Path) -> None:
    """Every eight zeros are an empty text: the longest list that passes for a real one."""
    keys = (ARCHITECTURE, texts_key("n", [], count=gguf_format.MOST_TEXTS))
    path.write_bytes(file_of(keys, (), key_count=3))
    os.truncate(path, 1 << 30)
    start = time.process_time()
    assert "a name is empty" in complaint(path)
    assert time.process_time() - start < 3 * SLOW


# Models split over several files.


def split_model(folder: Path) -> list[Path]:
    writer = gguf.GGUFWriter(folder / "big.gguf", "llama", split_max_tensors=2)
    for name in "abcde":
        writer.add_tensor(name, np.zeros(64, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return sorted(folder.glob("big-*.gguf"))


def test_split_model_is_read_from_its_first_part(tmp_path: Path) -> None:
    parts = split_model(tmp_path)
    header = read_header(parts[0])
    assert header.parts == len(parts) == 3
    assert header.file_bytes == parts[0].stat().st_size
    assert header.model_bytes == sum(part.stat().st_size for part in parts)
    assert (header.tensor_count, header.parameter_count) == (5, 5 * 64)


def test_other_part_of_a_split_model_points_to_the_first(tmp_path: Path) -> None:
    parts = split_model(tmp_path)
    sentence = complaint(parts[1])
    assert "part 2 of 3 of a split model; open big-00001-of-00003.gguf instead" in sentence


def test_split_model_with_a_part_missing_cut_or_renamed_is_told(tmp_path: Path) -> None:
    parts = split_model(tmp_path)
    renamed = tmp_path / "renamed.gguf"
    renamed.write_bytes(parts[0].read_bytes())
    assert "-00001-of-00003.gguf; rename it back" in complaint(renamed)
    os.truncate(parts[1], parts[1].stat().st_size - 1)
    sentence = complaint(parts[0])
    assert parts[1].name in sentence and "incomplete" in sentence
    parts[1].unlink()
    assert f"part 2, {parts[1].name}, is missing" in complaint(parts[0])


def test_impossible_number_of_parts_is_told_at_once(path: Path) -> None:
    ending = "-00001-of-18446744073709551615.gguf"
    count = text(b"split.count") + struct.pack("<IQ", 10, HUGE)
    part = path.with_name("x" + ending)
    start = time.process_time()
    assert "is missing" in complaint_about(part, file_of((ARCHITECTURE, count)))
    assert time.process_time() - start < SLOW


@pytest.mark.parametrize("architecture", Architecture)
def test_a_beginning_says_what_the_whole_header_says(
    tmp_path: Path, architecture: Architecture
) -> None:
    path = tiny_model(tmp_path, architecture, chat_template=CHATML_TEMPLATE)
    whole, beginning = read_header(path), read_beginning(path)
    # In these files, what the model is comes after the vocabulary: they are read to the end.
    assert beginning == whole and whole.is_whole


def test_a_beginning_ends_at_the_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    blocks = number_key("llama.block_count", 2)
    tokens = texts_key("tokenizer.ggml.tokens", [b"x"] * 100)
    path.write_bytes(file_of([ARCHITECTURE, blocks, tokens, number_key("late", 1)]))
    whole, beginning = read_header(path), read_beginning(path)
    assert not beginning.is_whole and beginning.vocabulary_size == 100
    assert beginning.metadata == {k: v for k, v in whole.metadata.items() if k != "late"}
    assert beginning.model_bytes == whole.model_bytes == path.stat().st_size
    assert beginning.tensor_count == whole.tensor_count == 1
    # What is wrong before the vocabulary is noticed, and what comes after it is not looked at.
    contents = path.read_bytes()
    path.write_bytes(contents[:-32])
    assert read_beginning(path).file_bytes == len(contents) - 32
    with pytest.raises(ModelFileError, match="incomplete"):
        read_header(path)
    path.write_bytes(contents[:40])
    with pytest.raises(ModelFileError, match="incomplete"):
        read_beginning(path)
    other = texts_key("general.languages", [b"x"] * 100)
    path.write_bytes(file_of([ARCHITECTURE, blocks, other, tokens]))
    assert read_beginning(path).is_whole
