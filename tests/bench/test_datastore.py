"""The datastore's benchmark: its text is like text, and its figures are there."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sssd_chat.bench import datastore
from sssd_chat.bench.datastore import measure
from sssd_chat.bench.synthetic import DOCUMENT_TOKENS, VOCABULARY, SyntheticText
from sssd_chat.cli import bench


@pytest.fixture(autouse=True)
def few_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datastore, "QUERIES", 100)


def windows(documents: list[np.ndarray], length: int) -> set[tuple[int, ...]]:
    return {
        tuple(document[start : start + length].tolist())
        for document in documents
        for start in range(len(document) - length)
    }


def test_made_up_text_is_the_same_for_the_same_seed() -> None:
    one, again, other = (SyntheticText(seed).documents(3) for seed in (1, 1, 2))
    assert [len(each) for each in one] == [DOCUMENT_TOKENS] * 3
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_made_up_text_is_like_text() -> None:
    known, new = SyntheticText(1).documents(400), SyntheticText(2).documents(10)
    tokens, counts = np.unique(np.concatenate(known), return_counts=True)
    assert tokens.max() < VOCABULARY
    # A few tokens are everywhere, and many are rare.
    assert counts.max() > 0.03 * counts.sum()
    assert len(tokens) > VOCABULARY / 2
    # What a context was followed by tells something about another text, but not all of it.
    shares = [
        len(windows(new, length) & windows(known, length)) / len(windows(new, length))
        for length in (2, 4, 8)
    ]
    assert 0.9 > shares[0] > shares[1] > shares[2] > 0.02


def test_a_datastore_is_measured_at_every_age() -> None:
    told: list[str] = []
    report = measure(20_000, collections=3, progress=told.append)
    assert (report.tokens, report.collections) == (20_000, 3)
    assert told
    assert report.build.sorting > report.build.overall > 0
    for times in (report.answer_ms, report.grown.every_length_us, report.grown.drafting_us):
        assert 0 < times.median <= times.p99 <= times.longest
    # One for each collection, and those of the answers.
    assert report.grown.segments >= 4
    assert report.compacted.segments == 4
    assert 0 < report.compacted.matched <= 8
    assert 8 < report.compacted.bytes_per_token < 9
    assert report.opening.ms > 0


def test_the_command_prints_a_table_or_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.run(["datastore", "--tokens", "3000"]) == 0
    table = capsys.readouterr().out
    assert "3,000 tokens" in table
    assert "adding an answer, ms" in table
    assert bench.run(["datastore", "--tokens", "3000", "--segments", "2", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["tokens"] == 3000
    assert report["compacted"]["segments"] == 3
    assert set(report["opening"]) == {"ms", "private_bytes"}
