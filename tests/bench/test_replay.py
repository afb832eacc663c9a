"""Replays whose outcome can be worked out by hand."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from sssd_chat.bench.records import Record
from sssd_chat.bench.replay import replay, verified
from sssd_chat.drafting import ROOT, DraftTree
from sssd_chat.errors import UserError
from tests.drafting.text import looping_text

COST = [0.0, 10.0, 12.0, 14.0, 13.0, 20.0, 22.0, 24.0, 26.0, 28.0, 30.0, 32.0]


def record(prompt: list[int], out: list[int], name: str = "a") -> Record:
    return Record(name, 0, 0, tuple(prompt), tuple(out), tuple((token, 900) for token in out))


def test_plain_decoding_gains_nothing() -> None:
    report = replay([record([1], [2, 3, 4])], ["plain"], COST, largest_batch=11)
    found = report.policies["plain"]["all"]
    assert (found.tau, found.speedup, found.draft_size) == (1.0, 1.0, 0.0)
    assert (found.tokens, found.steps, found.acceptance) == (2, 2, None)


def test_a_small_answer_is_counted_by_hand() -> None:
    # With 5 known the draft is 6 7 8 5 (four nodes); 6 7 are right, 9 is the target's own. After
    # 9 nothing is known, and the target writes 4.
    report = replay(
        [record([5, 6, 7, 8], [5, 6, 7, 9, 4])], ["prompt-lookup"], COST, largest_batch=11
    )
    found = report.policies["prompt-lookup"]["a"]
    assert (found.tokens, found.steps) == (4, 2)
    assert found.tau == 2.0
    assert found.draft_size == 2.0
    # A chain below a refused node was never tested: 6, 7 and 8 were.
    assert found.acceptance == pytest.approx(2 / 3)
    assert found.speedup == pytest.approx(4 * 10 / (20 + 10))
    assert report.calibration == {}


def test_a_batch_is_padded_when_a_larger_one_is_cheaper() -> None:
    # Two drafted nodes make a batch of three, which costs what four cost.
    report = replay([record([5, 6], [5, 9, 4])], ["prompt-lookup"], COST, largest_batch=11)
    assert report.policies["prompt-lookup"]["all"].speedup == pytest.approx(2 * 10 / (13 + 10))


def test_an_answer_ends_inside_a_draft() -> None:
    report = replay([record([1, 2, 3, 4, 5], [1, 2, 3])], ["prompt-lookup"], COST, False, 11)
    found = report.policies["prompt-lookup"]["all"]
    assert (found.tokens, found.steps) == (2, 1)


def test_an_answer_of_one_token_takes_no_step() -> None:
    report = replay([record([1], [2])], ["sssd"], COST, largest_batch=11)
    found = report.policies["sssd"]["all"]
    assert (found.tau, found.speedup, found.tokens, found.steps) == (1.0, 1.0, 0, 0)


def test_sets_add_up_to_all() -> None:
    records = [
        record(looping_text(1, 60), looping_text(2, 60), "a"),
        record(looping_text(3, 60), looping_text(4, 60), "b"),
    ]
    report = replay(records, ["sssd", "sssd-reference"], COST, largest_batch=11)
    for sets in report.policies.values():
        assert list(sets) == ["all", "a", "b"]
        assert sets["all"].tokens == sets["a"].tokens + sets["b"].tokens == 118
        assert sets["all"].steps == sets["a"].steps + sets["b"].steps
    assert list(report.calibration) == ["sssd", "sssd-reference"]


def test_a_growing_datastore_knows_earlier_answers() -> None:
    records = [record([number], looping_text(9, 80)) for number in range(1000, 1004)]
    none = replay(records, ["sssd-reference"], COST, False, 11).policies["sssd-reference"]
    growing = replay(records, ["sssd-reference"], COST, True, 11).policies["sssd-reference"]
    assert growing["all"].tau > 2 * none["all"].tau


def test_the_best_reference_is_no_slower_than_any_size() -> None:
    records = [record(looping_text(1, 100), looping_text(2, 100))]
    names = ["sssd-reference:best", *(f"sssd-reference:{size}" for size in (2, 3, 4, 6, 8))]
    report = replay(records, names, COST, largest_batch=11)
    speeds = [report.policies[name]["all"].speedup for name in names]
    assert speeds[0] == max(speeds)


def test_a_replay_repeats_itself() -> None:
    records = [record(looping_text(1, 100), looping_text(2, 100))]

    def outcome() -> tuple[float, float, float]:
        found = replay(records, ["sssd"], COST, True, 11).policies["sssd"]["all"]
        return found.tau, found.speedup, found.draft_size

    assert outcome() == outcome()


def test_a_report_turns_into_json() -> None:
    report = replay([record([1], [2, 3])], ["sssd"], COST, largest_batch=11)
    shape = json.loads(json.dumps(asdict(report)))["policies"]["sssd"]["all"]
    assert {
        "tau",
        "speedup",
        "draft_size",
        "acceptance",
        "draft_us_median",
        "draft_us_p99",
        "tokens",
        "steps",
    } <= set(shape)


@pytest.mark.parametrize("name", ["nonsense", "sssd-reference:0", "sssd-reference:x", "sssd:3"])
def test_an_unknown_policy_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="no policy"):
        replay([], [name], COST)


def test_verification_shows_the_target_where_the_path_went() -> None:
    answer = Record("a", 0, 0, (1,), (2, 3, 4, 5), ((2,), (3, 30), (4, 40), (5, 50)))
    tree = DraftTree()
    right = tree.add(3, ROOT, 0.9, "x")
    tree.add(8, ROOT, 0.5, "x")
    last = tree.add(4, right, 0.4, "x")
    step = verified(tree, answer, 1)
    assert step.path == [right, last]
    assert step.emitted == [3, 4, 5]
    assert step.best_tokens == [(ROOT, (3, 30)), (right, (4, 40)), (last, (5, 50))]
