"""What every drafter promises, and what the two that learn from text find."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sssd_chat.drafting import (
    ROOT,
    Drafter,
    DraftTree,
    Experience,
    ObservedStep,
    PlainDrafter,
    ReferenceDrafter,
    SssdDrafter,
)
from sssd_chat.drafting.reference import published_size
from sssd_chat.drafting.sources.growing import GrowingSource
from sssd_chat.drafting.sssd import RUNNER_UPS
from tests.drafting.text import looping_text, texts, verified, write


def store_of(documents: list[list[int]]) -> GrowingSource:
    store = GrowingSource()
    for document in documents:
        store.add(document)
    return store


MAKERS: list[Callable[[], Drafter]] = [
    PlainDrafter,
    ReferenceDrafter,
    lambda: ReferenceDrafter(store_of([looping_text(5, 200), [0, 1, 2, 3, 0, 1]])),
    SssdDrafter,
    lambda: SssdDrafter(datastore=store_of([looping_text(5, 200), [0, 1, 2, 3, 0, 1]])),
]
any_drafter = pytest.mark.parametrize("make", MAKERS)


@any_drafter
@given(prompt=texts, answer=texts, budget=st.integers(0, 20), floor=st.floats(0, 1))
@settings(max_examples=60)
def test_drafts_are_trees_within_budget_and_above_the_floor(
    make: Callable[[], Drafter], prompt: list[int], answer: list[int], budget: int, floor: float
) -> None:
    for tree in write(make(), prompt, answer, budget, floor):
        tree.check_integrity()
        assert len(tree) <= budget
        assert all(floor <= probability <= 1 for probability in tree.probabilities)


@any_drafter
@given(prompt=texts, depth=st.integers(0, 6))
@settings(max_examples=60)
def test_no_path_is_longer_than_asked_for_and_nothing_else_is_missing(
    make: Callable[[], Drafter], prompt: list[int], depth: int
) -> None:
    drafter = make()
    drafter.begin(prompt)
    whole, cut = drafter.draft(5000, 0.01), drafter.draft(5000, 0.01, depth=depth)
    assert max(cut.depths(), default=0) <= depth
    short = [n for n, length in enumerate(whole.depths()) if length <= depth]
    assert paths(cut, range(len(cut))) == paths(whole, short)


def paths(tree: DraftTree, nodes: Iterable[int]) -> set[tuple[int, ...]]:
    """The tokens from the root to each of the nodes."""
    return {tuple(tree.tokens[step] for step in tree.path(node)) for node in nodes}


@given(prompt=texts, answer=texts)
def test_nothing_is_drafted_behind_the_end_of_an_answer(
    prompt: list[int], answer: list[int]
) -> None:
    store = store_of([looping_text(5, 200), [0, 1, 2, 3, 0, 1]])
    drafter = SssdDrafter(datastore=store, is_end=lambda token: token == 2)
    for tree in write(drafter, prompt, answer):
        above = [tree.tokens[parent] for parent in tree.parents if parent != ROOT]
        assert 2 not in above


def test_a_copy_goes_on_to_the_end_of_an_answer_and_no_further() -> None:
    passage = list(range(1000, 1040))
    drafter = SssdDrafter(is_end=lambda token: token == 1025)
    drafter.begin([*passage, 1, *passage[:16]])
    assert drafter.draft(64, branches=False).tokens == passage[16:26]


@any_drafter
def test_the_same_history_gives_the_same_drafts(make: Callable[[], Drafter]) -> None:
    prompt, answer = looping_text(1, 300), looping_text(2, 200)
    assert write(make(), prompt, answer) == write(make(), prompt, answer)


@pytest.mark.parametrize("make", MAKERS[1:])
def test_begin_after_a_turn_drafts_as_a_fresh_drafter_does(make: Callable[[], Drafter]) -> None:
    first, answer, second = looping_text(1, 120), looping_text(2, 60), looping_text(3, 50)
    used = make()
    write(used, first, answer)
    fresh = make()
    if isinstance(used, SssdDrafter) and isinstance(fresh, SssdDrafter):
        fresh.experience = used.experience
    used.begin([*first, *answer, *second])
    fresh.begin([*first, *answer, *second])
    assert len(used.draft(20)) > 0
    assert used.draft(20) == fresh.draft(20)


@pytest.mark.parametrize("make", MAKERS[1:])
def test_an_unchanged_text_is_drafted_the_same_again(make: Callable[[], Drafter]) -> None:
    drafter = make()
    drafter.begin(looping_text(1, 200))
    assert drafter.draft(10) == drafter.draft(10)


def test_a_smaller_budget_gives_the_start_of_the_larger_draft() -> None:
    drafter = SssdDrafter()
    write(drafter, looping_text(1, 100), looping_text(2, 400))
    large, small = drafter.draft(12), drafter.draft(3)
    assert small.tokens == large.tokens[:3]
    assert small.parents == large.parents[:3]


def test_the_reference_has_the_published_probabilities() -> None:
    drafter = ReferenceDrafter()
    drafter.begin([1, 2, 3, 9, 2, 4, 1, 2])
    tree = drafter.draft(10)
    chances = {
        tuple(tree.tokens[step] for step in tree.path(node)): tree.probabilities[node]
        for node in range(len(tree))
    }
    # After 1 2 came 3; after 2 came 3 and 4. The first candidate takes the longer match.
    assert chances[(3,)] == pytest.approx(0.6)
    assert chances[(4,)] == pytest.approx(0.6 * 0.5)
    # Two below the root with one token matched: the factor is 0.6 + 0.1.
    assert chances[4, 1] == pytest.approx(0.6 * 0.5 * 0.7)
    assert chances[3, 9] == pytest.approx(0.6 * 0.8)


def test_the_reference_looks_for_shorter_suffixes_while_samples_are_few() -> None:
    store = GrowingSource()
    store.add([1, 2, 3])
    store.add([7, 2, 4])
    drafter = ReferenceDrafter(store)
    drafter.begin([5, 1, 2])
    tree = drafter.draft(10)
    chances = dict(zip(tree.tokens, tree.probabilities, strict=True))
    # One sample after 1 2, two after 2: three in all.
    assert chances == {3: pytest.approx(2 / 3), 4: pytest.approx(1 / 3)}


def test_the_reference_takes_no_shorter_suffix_when_samples_are_enough() -> None:
    store = GrowingSource()
    for _ in range(60):
        store.add([1, 2, 3])
    store.add([7, 2, 4])
    drafter = ReferenceDrafter(store)
    drafter.begin([5, 1, 2])
    assert drafter.draft(10).tokens == [3]


def test_the_reference_gives_a_node_five_children_at_most() -> None:
    text: list[int] = []
    for token in range(10, 20):
        text += [1, token]
    drafter = ReferenceDrafter()
    drafter.begin([*text, 1])
    tree = drafter.draft(50)
    assert max(tree.parents.count(parent) for parent in [ROOT, *range(len(tree))]) == 5


@pytest.mark.parametrize(("sequences", "size"), [(1, 32), (2, 22), (16, 8), (64, 2), (65, 1)])
def test_published_sizes(sequences: int, size: int) -> None:
    assert published_size(sequences) == size


def test_sssd_drafts_a_long_copy_whole() -> None:
    passage = list(range(1000, 1200))
    drafter = SssdDrafter()
    for _ in range(3):
        write(drafter, [*passage, 1], passage[:150], budget=63)
    drafter.begin([*passage, 1, *passage[:30]])
    tree = drafter.draft(64, floor=0.1)
    depths = tree.depths()
    longest = tree.path(depths.index(max(depths)))
    assert [tree.tokens[node] for node in longest] == passage[30:94]


def test_sssd_splices_sources() -> None:
    drafter = SssdDrafter(datastore=store_of([[41, 42, 43, 44, 45]] * 5))
    # The target always went on with 46 after 44 45, which is in no text that is searched.
    drafter.begin([44])
    for emitted in ([45], [46]):
        drafter.observe(ObservedStep(DraftTree(), [], emitted, [(ROOT, tuple(emitted))]))
    drafter.begin([1, 2, 42, 1, 2, 42, 1, 2])
    tree = drafter.draft(100, 0.0001)
    path = {tree.tokens[node]: tree.origins[node] for node in tree.path(tree.tokens.index(46))}
    assert path == {
        42: "conversation",
        43: "chats",
        44: "chats",
        45: "chats",
        46: RUNNER_UPS,
    }


def test_sssd_learns_which_source_to_trust() -> None:
    """The same evidence, once always right and once always wrong."""
    chances = []
    for lies in (False, True):
        drafter = SssdDrafter()
        for turn in range(40):
            start = 10 * turn + 100
            following = start + (5 if lies else 2)
            drafter.begin([start, start + 1, start + 2, start + 3, start, start + 1])
            drafter.observe(ObservedStep(DraftTree(), [], [following], []))
        drafter.begin([1, 2, 3, 4, 1, 2])
        tree = drafter.draft(1)
        chances.append(tree.probabilities[0] if len(tree) else 0.0)
    honest, lying = chances
    assert honest > 0.8
    assert lying < 0.1


def test_sssd_learns_from_steps_without_a_draft() -> None:
    drafter = SssdDrafter()
    drafter.begin([1, 2, 3])
    for token in [4, 1, 2, 3]:
        drafter.observe(ObservedStep(DraftTree(), [], [token], [(ROOT, (token, 50))]))
    assert drafter.draft(1, 0.0).tokens == [4]


def test_sssd_takes_a_step_that_a_stop_cut_short() -> None:
    drafter, twin = SssdDrafter(), SssdDrafter()
    text = looping_text(1, 200)
    for one in (drafter, twin):
        one.begin([*text, *text[:20]])
    tree = drafter.draft(20)
    step = verified(tree, [*text[20:23], 9, 9], 0)
    assert step.path
    step.emitted = step.emitted[:1]
    drafter.observe(step)
    twin.observe(ObservedStep(DraftTree(), [], step.emitted, step.best_tokens[:1]))
    assert drafter.draft(20) == twin.draft(20)


def test_one_experience_serves_several_conversations() -> None:
    experience = Experience()
    one, other = SssdDrafter(experience), SssdDrafter(experience)
    write(one, [1], looping_text(4, 300))
    other.begin(looping_text(4, 300)[:20])
    assert len(other.draft(5)) > 0
    assert len(SssdDrafter().draft(5)) == 0


def test_sssd_learns_from_what_the_target_thought_after_refused_tokens() -> None:
    drafter = SssdDrafter()
    drafter.begin([5, 6, 1, 2, 3, 1, 2])
    tree = drafter.draft(4)
    refused = tree.tokens.index(3)
    assert tree.parents[refused] == ROOT
    step = ObservedStep(tree, [], [4], [(ROOT, (4, 3)), (refused, (70, 71))])
    drafter.observe(step)
    drafter.begin([8, 9, 2, 3])
    assert drafter.draft(2, 0.0).tokens == [70, 71]


def test_sssd_learns_the_same_from_a_step_that_is_not_from_its_last_draft() -> None:
    text = looping_text(1, 200)
    drafter, twin = SssdDrafter(), SssdDrafter()
    for one in (drafter, twin):
        one.begin([*text, *text[:20]])
    drafter.draft(20)
    tree = DraftTree()
    first = tree.add(text[20], ROOT, 0.9, "elsewhere")
    tree.add(text[21], first, 0.8, "elsewhere")
    step = verified(tree, text, 20)
    assert step.path == [0, 1]
    drafter.observe(step)
    for token, best in zip(step.emitted, step.best_tokens, strict=True):
        twin.observe(ObservedStep(DraftTree(), [], [token], [(ROOT, best[1])]))
    assert len(twin.draft(20)) > 0
    assert drafter.draft(20) == twin.draft(20)
