"""What is kept between runs: it comes back whole, stays small, and damage does no harm."""

from __future__ import annotations

import random
import tracemalloc
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sssd_chat.drafting import ROOT, DraftTree, Experience, ObservedStep, SssdDrafter
from sssd_chat.drafting.experience import HEADER
from sssd_chat.drafting.runnerups import LIMITS, RunnerUps
from sssd_chat.drafting.sources.trie import TOKEN_BITS
from sssd_chat.drafting.token_biases import TokenBiases
from tests.drafting.text import looping_text, write


@pytest.fixture
def learned() -> Experience:
    experience = Experience()
    write(SssdDrafter(experience), looping_text(1, 200), looping_text(2, 600))
    return experience


def test_what_was_learned_comes_back(learned: Experience, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "experience"
    learned.save(path)
    loaded, notice = Experience.load(path)
    assert notice is None
    again = tmp_path / "again"
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()
    assert list(path.parent.iterdir()) == [path]
    warm, kept, cold = SssdDrafter(learned), SssdDrafter(loaded), SssdDrafter()
    for drafter in (warm, kept, cold):
        drafter.begin(looping_text(3, 100))
    expected, found = warm.draft(8), kept.draft(8)
    assert found.tokens == expected.tokens
    assert found.probabilities == pytest.approx(expected.probabilities, abs=0.02)
    assert found != cold.draft(8)


def test_a_missing_file_is_no_damage(tmp_path: Path) -> None:
    experience, notice = Experience.load(tmp_path / "none")
    assert notice is None
    assert experience.runner_ups.tables == RunnerUps().tables


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    _, notice = Experience.load(tmp_path)
    assert notice is not None
    assert str(tmp_path) in notice


def test_a_file_of_another_version_is_told(learned: Experience, tmp_path: Path) -> None:
    path = tmp_path / "experience"
    learned.save(path)
    path.write_bytes(path.read_bytes().replace(b"experience 2", b"experience 1"))
    experience, notice = Experience.load(path)
    assert notice is not None
    assert "version" in notice
    assert experience.runner_ups.tables == RunnerUps().tables


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"estimator":{},"runner_ups":[]}',
        "nonsense",
        '{"estimator":{"buckets":[[],[],[],[[0,7,9]]],"weights":[],"biases":{}},"runner_ups":[]}',
    ],
)
def test_wrong_contents_are_told_and_leave_nothing_behind(text: str, tmp_path: Path) -> None:
    path = tmp_path / "experience"
    path.write_bytes(HEADER + zlib.compress(text.encode()))
    experience, notice = Experience.load(path)
    assert notice is not None
    assert "damaged" in notice
    assert experience.estimator.dump() == Experience().estimator.dump()


@given(place=st.floats(0, 1), damage=st.binary(min_size=1, max_size=40), cut=st.booleans())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_damage_raises(
    place: float, damage: bytes, cut: bool, learned: Experience, tmp_path: Path
) -> None:
    path = tmp_path / "experience"
    learned.save(path)
    raw = path.read_bytes()
    start = int(place * len(raw))
    path.write_bytes(raw[:start] if cut else raw[:start] + damage + raw[start + len(damage) :])
    experience, notice = Experience.load(path)
    assert notice is None or path.name in notice
    drafter = SssdDrafter(experience)
    drafter.begin(looping_text(1, 100))
    drafter.draft(8).check_integrity()


def test_a_crash_while_saving_leaves_the_old_file(
    learned: Experience, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "experience"
    learned.save(path)
    before = path.read_bytes()

    def fail(source: Path, target: Path) -> None:
        raise OSError("the disk went away")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="went away"):
        Experience().save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_stays_under_a_megabyte_and_memory_is_bounded(tmp_path: Path) -> None:
    """The worst text: all tokens random, so that nothing repeats and nothing compresses."""
    chance = random.Random(0)
    experience = Experience()
    text = [chance.randrange(150_000) for _ in range(4)]
    for _ in range(15_000):
        keys = [text[-1], text[-2] << TOKEN_BITS | text[-1]]
        keys.append(text[-3] << 2 * TOKEN_BITS | keys[1])
        best = tuple(chance.randrange(150_000) for _ in range(4))
        experience.runner_ups.add(keys, best)
        context = (text[-1], chance.randrange(81), text[-2], text[-3])
        errors = [(token, chance.uniform(-1, 1)) for token in best]
        experience.estimator._biases.learn(context, errors)
        text = [*text[-3:], best[0]]
    assert [len(table) for table in experience.runner_ups.tables] == list(LIMITS)
    path = tmp_path / "experience"
    experience.save(path)
    assert path.stat().st_size < 1_000_000
    loaded, notice = Experience.load(path)
    assert notice is None
    assert loaded.runner_ups.tables == experience.runner_ups.tables


def test_runner_ups_forget_what_was_unused_longest() -> None:
    runner_ups = RunnerUps()
    for token in range(LIMITS[0]):
        runner_ups.add([token], (1, 2, 3, 4, 5))
    runner_ups.add([0], (9,))
    runner_ups.add([500_000], (8,))
    single = runner_ups.tables[0]
    assert len(single) == LIMITS[0]
    assert single[0] == (9,)
    assert 1 not in single
    assert single[2] == (1, 2, 3, 4)


def test_biases_correct_in_the_direction_of_the_error() -> None:
    biases = TokenBiases()

    def total(context: tuple[int, ...], token: int) -> float:
        constant, tables = biases.after(context)
        return constant + sum(table.get(token, 0.0) for table in tables)

    for _ in range(10):
        biases.learn((1, 2, 3), [(50, 0.5), (51, -0.5)])
    assert total((1, 2, 3), 50) > 0 > total((1, 2, 3), 51)
    assert total((1, 2, 3), 50) > total((1, 8, 9), 50) > 0
    assert total((7, 8, 9), 60) == 0


@pytest.mark.parametrize("kind", ["random", "repeated", "one token"])
def test_a_long_conversation_fits_into_150_mb(kind: str) -> None:
    chance = random.Random(0)
    length = 32_768
    texts = {
        "random": [chance.randrange(150_000) for _ in range(length)],
        "repeated": [chance.randrange(150_000) for _ in range(length // 2)] * 2,
        "one token": [7] * length,
    }
    tracemalloc.start()
    try:
        drafter = SssdDrafter()
        drafter.begin(texts[kind])
        for token in texts[kind][:50]:
            drafter.draft(31)
            drafter.observe(ObservedStep(DraftTree(), [], [token], [(ROOT, (token, 1, 2, 3))]))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < 150_000_000
