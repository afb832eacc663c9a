from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat.datastore import traces
from sssd_chat.datastore.traces import text_needles, token_needles, traces_in_files

plain_texts = st.text(min_size=1, max_size=400).filter(lambda text: bool(text.strip()))


@given(text=plain_texts, before=st.binary(max_size=50), after=st.binary(max_size=50))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_text_is_found_between_anything(
    tmp_path: Path, text: str, before: bytes, after: bytes
) -> None:
    content = text.encode("utf-8", "surrogatepass")
    (tmp_path / "file").write_bytes(before + content + after)
    assert list(traces_in_files(tmp_path, text_needles(text), []))


@given(
    tokens=st.lists(st.integers(0, 200_000), min_size=5, max_size=80),
    order=st.sampled_from(["<u4", ">u4"]),
    before=st.binary(max_size=9),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tokens_are_found_but_for_their_ends(
    tmp_path: Path, tokens: list[int], order: str, before: bytes
) -> None:
    kept = [7, *tokens[1:-1], 9]
    (tmp_path / "file").write_bytes(before + np.array(kept, order).tobytes())
    assert list(traces_in_files(tmp_path, [], token_needles(tokens)))


def test_a_text_across_two_reads_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "_CHUNK", 16)
    text = "somewhere in here"
    for offset in range(40):
        (tmp_path / "file").write_bytes(b"." * offset + text.encode() + b"." * 20)
        assert [t.what for t in traces_in_files(tmp_path, [text.encode()], [])] == ["the text"]


def test_names_count_and_other_files_do_not(tmp_path: Path) -> None:
    (tmp_path / "a secret plan.txt").write_bytes(b"nothing")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_bytes(b"a public plan")
    (found,) = traces_in_files(tmp_path, text_needles("a secret plan"), [])
    assert found.path.name == "a secret plan.txt"
    assert "name" in found.what


def test_few_tokens_are_not_looked_for() -> None:
    assert token_needles([1, 2, 3, 4]) == set()


@pytest.mark.parametrize(
    ("name", "found"), [("a.segment", False), ("b.state", False), ("c.db", True)]
)
def test_half_of_a_text_counts_only_where_a_text_may_be_cut(
    tmp_path: Path, name: str, found: bool
) -> None:
    tokens = list(range(100, 110))
    (tmp_path / name).write_bytes(np.array(tokens[:5], "<u4").tobytes())
    assert bool(list(traces_in_files(tmp_path, [], token_needles(tokens)))) == found
    (tmp_path / name).write_bytes(np.array(tokens, "<u4").tobytes())
    assert list(traces_in_files(tmp_path, [], token_needles(tokens)))
