"""Texts that begin alike are read once, whoever comes, goes or loses its place meanwhile."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from sssd_chat.generation.batching import Phase, Request, Scheduler, Ticket
from sssd_chat.generation.batching.slots import common_beginning
from sssd_chat.generation.engine import Engine, GenerationSettings
from sssd_chat.generation.statistics import StoppedBy
from sssd_chat.llama.target import DecodeError
from tests.generation.batching.test_scheduler import (
    Received,
    alone,
    check_clean,
    make_engine,
    make_scheduler,
    receive,
    toy,
)
from tests.generation.toy import ToyState

LEAST = 8
LONG = tuple(1 + n % 11 for n in range(600))
SHORT = GenerationSettings(max_tokens=4)


def pair(sequences: int = 8, cells: int | None = None) -> tuple[Engine[ToyState], Scheduler]:
    engine = make_engine(sequences, 1000, cells, can_end=False, least_shared=LEAST)
    return engine, make_scheduler(engine)


def finish(scheduler: Scheduler, received: dict[Ticket, Received]) -> None:
    while not scheduler.is_idle:
        receive(received, scheduler.step())


def check_answers(tickets: list[Ticket], received: dict[Ticket, Received]) -> None:
    for ticket in tickets:
        got = received[ticket]
        assert (got.tokens, got.text) == alone(ticket.request, can_end=False, context=1000)[:2]


@pytest.mark.parametrize("seed", range(20))
def test_common_beginnings_are_found(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(300):
        text = [rng.random() < 0.9 for _ in range(rng.randrange(30))]
        other = tuple(rng.random() < 0.9 for _ in range(rng.randrange(30)))
        if rng.random() < 0.3:
            shared = [rng.random() < 0.5 for _ in range(rng.randrange(200))]
            text, other = shared + text, (*shared, *other)
        most = rng.randrange(240)
        same = common_beginning(text, other, most)
        assert list(text[:same]) == list(other[:same])
        ends = same in (most, len(text), len(other))
        assert ends or text[same] != other[same]


@pytest.mark.parametrize("count", [2, 5, 8])
def test_a_burst_reads_its_long_beginning_once(count: int) -> None:
    engine, scheduler = pair()
    tickets = [scheduler.add(Request((*LONG, n, 3), SHORT)) for n in range(count)]
    received: dict[Ticket, Received] = {}
    finish(scheduler, received)
    figures = scheduler.figures()
    assert figures.read == len(LONG) + 2 * count
    assert figures.reused == len(LONG) * (count - 1)
    reused = [ticket.answer.statistics.reused_tokens for ticket in tickets]
    assert reused == [0] + [len(LONG)] * (count - 1)
    check_answers(tickets, received)
    check_clean(engine, scheduler)


def test_the_same_prompt_asked_twice_at_once_is_read_once() -> None:
    engine, scheduler = pair()
    tickets = [scheduler.add(Request(LONG, SHORT)) for _ in range(4)]
    received: dict[Ticket, Received] = {}
    finish(scheduler, received)
    # The last token of each is read: its logits are wanted.
    assert scheduler.figures().read == len(LONG) + 3
    check_answers(tickets, received)
    check_clean(engine, scheduler)


def test_a_text_that_is_in_use_is_shared_at_once() -> None:
    engine, scheduler = pair()
    scheduler.add(Request(LONG, GenerationSettings(max_tokens=50)))
    while scheduler.figures().writing == 0:
        scheduler.step()
    before = scheduler.figures().read
    late = scheduler.add(Request((*LONG[:400], 0, 5), SHORT))
    received: dict[Ticket, Received] = {}
    finish(scheduler, received)
    assert scheduler.figures().read == before + 2
    check_answers([late], received)
    check_clean(engine, scheduler)


def test_little_in_common_is_not_waited_for() -> None:
    engine, scheduler = pair()
    first = (*LONG[: LEAST - 1], 0, *LONG)
    tickets = [scheduler.add(Request((*first[:LEAST], n, *LONG[n:300]), SHORT)) for n in (5, 6)]
    receive({}, scheduler.step())
    # Both are read in the same step.
    assert all(report.read for report in scheduler.step())
    assert [ticket.phase for ticket in tickets] == [Phase.READING] * 2
    short = [Request((*LONG[: LEAST - 1], 0, n), SHORT) for n in range(3)]
    for request in short:
        scheduler.add(request)
    reports = [report for report in scheduler.step() if report.ticket not in tickets]
    assert len(reports) == len(short)
    finish(scheduler, {})
    check_clean(engine, scheduler)


def test_the_one_that_is_waited_for_goes_away_in_the_middle() -> None:
    engine, scheduler = pair()
    first = scheduler.add(Request((*LONG, 3), SHORT))
    others = [scheduler.add(Request((*LONG, n, 5), SHORT)) for n in (4, 5, 6)]
    received: dict[Ticket, Received] = {}
    for _ in range(3):
        receive(received, scheduler.step())
    assert 0 < scheduler.figures().read < len(LONG)
    assert [ticket.phase for ticket in others] == [Phase.READING] * 3
    scheduler.cancel(first)
    finish(scheduler, received)
    assert received[first].last is not None
    assert received[first].last.finished is StoppedBy.CANCELLED
    # What it had read is not read again, and the rest of it once.
    assert scheduler.figures().read == len(LONG) + 2 * len(others)
    check_answers(others, received)
    check_clean(engine, scheduler)


def test_those_who_wait_can_be_cancelled() -> None:
    engine, scheduler = pair()
    first = scheduler.add(Request((*LONG, 3), SHORT))
    waiting = scheduler.add(Request((*LONG, 4), SHORT))
    received: dict[Ticket, Received] = {}
    receive(received, scheduler.step())
    scheduler.cancel(waiting)
    finish(scheduler, received)
    assert received[waiting].last is not None
    assert received[waiting].last.finished is StoppedBy.CANCELLED
    check_answers([first], received)
    check_clean(engine, scheduler)


def test_a_fault_while_others_wait_ends_them_all_and_nothing_is_shared_from_it() -> None:
    engine, scheduler = pair()
    tickets = [scheduler.add(Request((*LONG, n), SHORT)) for n in range(3)]
    received: dict[Ticket, Received] = {}
    receive(received, scheduler.step())
    toy(engine).faults.append(DecodeError("llama.cpp could not decode a batch."))
    finish(scheduler, received)
    assert all(received[ticket].last.error for ticket in tickets)
    late = scheduler.add(Request((*LONG, 9), SHORT))
    finish(scheduler, received)
    check_answers([late], received)
    check_clean(engine, scheduler)


def test_who_waits_holds_up_nobody_else() -> None:
    """A prompt with another beginning that comes later is read beside, and first."""
    engine, scheduler = pair()
    for n in range(4):
        scheduler.add(Request((*LONG, n), SHORT))
    other = scheduler.add(Request((0, 5, 2), SHORT))
    reports = scheduler.step()
    assert other in {report.ticket for report in reports if report.tokens}
    finish(scheduler, {})
    check_clean(engine, scheduler)


def test_waiting_takes_no_longer_than_reading() -> None:
    """The last of a burst has its first token sooner than where texts cannot share."""
    steps = []
    for least in (LEAST, None):
        engine = make_engine(8, 1000, can_end=False, least_shared=least)
        scheduler = make_scheduler(engine)
        tickets = [scheduler.add(Request((*LONG, n, 3), SHORT)) for n in range(8)]
        count = 0
        while any(ticket.times.first_token is None for ticket in tickets):
            scheduler.step()
            count += 1
        steps.append(count)
        finish(scheduler, {})
    assert steps[0] < 0.3 * steps[1]


@pytest.mark.parametrize("seed", range(60))
def test_texts_that_branch_from_each_other_are_what_they_are_alone(seed: int) -> None:
    """Chains of beginnings, arrivals, cancels, and cells that run out in the middle."""
    rng = random.Random(seed)
    engine = make_engine(
        rng.choice([2, 4, 9]),
        100,
        rng.choice([None, 110, 160]),
        can_end=False,
        least_shared=rng.choice([1, 3, 10]),
    )
    scheduler = make_scheduler(engine, seed)
    prompts = [[rng.randrange(12) for _ in range(40)]]
    for _ in range(15):
        kept = rng.choice(prompts)
        kept = kept[: rng.randrange(len(kept) + 1)]
        prompts.append(kept + [rng.randrange(12) for _ in range(rng.randrange(1, 40))])
    prompts = [prompt[:80] for prompt in prompts]
    waiting = [
        Request(tuple(p), GenerationSettings(max_tokens=rng.randrange(1, 15))) for p in prompts
    ]
    received: dict[Ticket, Received] = {}
    cancelled = set()
    while waiting or not scheduler.is_idle:
        while waiting and rng.random() < 0.7:
            received[scheduler.add(waiting.pop())] = Received()
        if received and rng.random() < 0.1:
            ticket = rng.choice(list(received))
            cancelled.add(ticket)
            scheduler.cancel(ticket)
        receive(received, scheduler.step())
    for ticket, got in received.items():
        tokens, _, _ = alone(ticket.request, can_end=False)
        assert got.last is not None and got.last.error is None
        if ticket in cancelled:
            assert got.tokens == tokens[: len(got.tokens)]
        else:
            assert got.tokens == tokens
    check_clean(engine, scheduler)


def test_requests_are_let_in_in_their_order_while_some_wait() -> None:
    engine, scheduler = pair(3)
    tickets = [scheduler.add(Request((*LONG[: 100 * n], n, 3), SHORT)) for n in (5, 5, 1, 4, 6)]
    while not scheduler.is_idle:
        scheduler.step()
    admitted = [ticket.times.admitted for ticket in tickets]
    assert all(a is not None and b is not None and a <= b for a, b in pairwise(admitted))
    check_clean(engine, scheduler)
