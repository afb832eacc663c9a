"""Whatever bytes a file holds: a header or a sentence, in little memory."""

from __future__ import annotations

import errno
import os
import struct
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat.llama.file_bytes import FileBytes
from sssd_chat.llama.gguf import ModelFileError, read_header
from sssd_chat.models.description import ModelDescription, describe
from tests.llama.test_gguf import (
    ARCHITECTURE,
    complaint,
    file_of,
    small_file,
    tensor,
    text_key,
    texts_key,
)

MOST_MEMORY = 40_000_000
"""Bytes that no header may take, whatever it claims."""

quick = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None
)


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A file to read, while memory is watched."""
    tracemalloc.start()
    yield tmp_path / "model.gguf"
    tracemalloc.stop()


def check(path: Path, contents: bytes, size: int | None = None) -> bool:
    """Reads the file, lengthened or cut to `size`; whether it is a model."""
    with path.open("wb") as file:
        file.write(contents)
        file.truncate(len(contents) if size is None else size)
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    try:
        header = read_header(path)
    except ModelFileError as error:
        sentence = str(error)
        assert sentence.endswith(".") and "\n" not in sentence and sentence.isprintable()
        assert len(sentence) < 600 + len(str(path))
        return False
    finally:
        assert tracemalloc.get_traced_memory()[1] - before < MOST_MEMORY
    description = describe(header)
    assert ModelDescription.from_json(description.as_json()) == description
    assert description.memory(4096).total >= 0
    return True


# Numbers that lengths and counts may claim: small ones, and those at the ends of what they can say.
ends = (0, 1, 2, 3, 8, 9, 12, 255, 256, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63)
numbers = st.one_of(st.integers(0, 40), st.sampled_from((*ends, 2**64 - 1)))
names = st.one_of(
    st.sampled_from(
        (
            *(b"general.architecture", b"general.alignment", b"general.name", b"split.count"),
            *(b"split.no", b"llama.block_count", b"llama.attention.head_count_kv"),
            *(b"llama.context_length", b"tokenizer.ggml.tokens", b"tokenizer.chat_template"),
        )
    ),
    st.binary(max_size=12),
)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """A text, whose length mostly is right."""
    value = draw(st.one_of(st.just(b"llama"), st.binary(max_size=20)))
    length = draw(st.one_of(st.just(len(value)), st.just(len(value)), numbers))
    return struct.pack("<Q", length) + value


@st.composite
def keys(draw: st.DrawFn) -> bytes:
    """A key of any type with a value of any, mostly the right, size."""
    name = draw(names)
    kind = draw(st.one_of(st.sampled_from(range(13)), numbers)) & 0xFFFFFFFF
    start = struct.pack("<Q", len(name)) + name + struct.pack("<I", kind)
    if kind == 8:
        return start + draw(texts())
    if kind == 9:
        inner = draw(st.one_of(st.sampled_from(range(13)), numbers)) & 0xFFFFFFFF
        items = draw(st.lists(texts() if inner == 8 else st.binary(max_size=8), max_size=80))
        count = draw(st.one_of(st.just(len(items)), numbers))
        return start + struct.pack("<IQ", inner, count) + b"".join(items)
    width = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}.get(kind, 4)
    return start + draw(st.binary(min_size=width, max_size=width))


@st.composite
def tensors(draw: st.DrawFn) -> bytes:
    """A tensor of any shape, type and place."""
    shape = draw(st.lists(numbers, max_size=6))
    dimensions = draw(st.one_of(st.just(len(shape)), numbers)) & 0xFFFFFFFF
    sizes = struct.pack(f"<{len(shape)}Q", *shape)
    kind = draw(st.integers(0, 50))
    return (
        draw(texts())
        + struct.pack("<I", dimensions)
        + sizes
        + struct.pack("<IQ", kind, draw(numbers))
    )


@quick
@given(contents=st.binary(max_size=400))
def test_any_bytes(path: Path, contents: bytes) -> None:
    check(path, contents)
    check(path, b"GGUF" + struct.pack("<I", 3) + contents)


@quick
@given(
    some=st.lists(keys(), max_size=6),
    weights=st.lists(tensors(), max_size=4),
    counts=st.tuples(st.none() | numbers, st.none() | numbers),
    size=st.none() | st.sampled_from((1 << 20, 1 << 34)),
    begins_well=st.booleans(),
)
def test_any_header_with_any_counts_and_lengths(
    path: Path,
    some: list[bytes],
    weights: list[bytes],
    counts: tuple[int | None, int | None],
    size: int | None,
    begins_well: bool,
) -> None:
    """Also at the head of a long file, where an absurd length may point at something."""
    contents = file_of(
        [ARCHITECTURE, *some] if begins_well else some,
        weights,
        tensor_count=counts[0],
        key_count=counts[1],
    )
    check(path, contents, size)


@quick
@given(data=st.data())
def test_any_damage_to_a_whole_file(path: Path, data: st.DataObject) -> None:
    whole = bytearray(small_file())
    places = st.integers(0, len(whole) - 1)
    for place in data.draw(st.lists(places, max_size=6)):
        end = place + data.draw(st.sampled_from((1, 4, 8)))
        whole[place:end] = data.draw(st.binary(min_size=1, max_size=8))
    size = data.draw(st.none() | st.integers(0, len(whole)) | st.just(1 << 32))
    check(path, bytes(whole), size)


def test_the_whole_file_is_a_model(path: Path) -> None:
    assert check(path, small_file())


def test_what_is_kept_has_a_limit_however_long_the_file(path: Path) -> None:
    """Thousands of keys, each with the longest text or the longest name that is kept."""
    long_text = [text_key(f"k{number}", b"x" * 65_000) for number in range(600)]
    assert check(path, file_of([ARCHITECTURE, *long_text]))
    lists = [texts_key(f"l{number}", [b"y" * 60_000] * 60) for number in range(10)]
    assert check(path, file_of([ARCHITECTURE, *lists]))
    long_names = [text_key(f"{number:065000}", b"") for number in range(600)]
    assert not check(path, file_of([ARCHITECTURE, *long_names]))
    many = [tensor(f"t{number}", [8], offset=32 * number) for number in range(20_000)]
    assert check(path, file_of(tensors=many, data=32 * len(many)))


def test_file_that_changes_while_it_is_read_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program cuts it short, or its disk goes away."""
    path.write_bytes(small_file())
    status = path.stat()
    os.truncate(path, 100)
    longer = os.stat_result((*status[:6], 10_000, *status[7:]))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", lambda _: longer)
        assert "incomplete" in complaint(path)

    def refuse(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(FileBytes, "_read", refuse)
    assert complaint(path).endswith("cannot be read: input/output error.")
