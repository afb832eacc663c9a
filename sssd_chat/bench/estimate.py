"""What some documents would have been worth: recorded answers, replayed with and without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sssd_chat.bench.cost import flat_cost
from sssd_chat.bench.records import Record
from sssd_chat.bench.replay import ALL, SetStatistics, replay
from sssd_chat.datastore.segment import Segment

_POLICY = "sssd"
_LARGEST_BATCH = 32


@dataclass(frozen=True, slots=True)
class Estimate:
    """What drafts gave in a replay."""

    answers: int
    tokens: int
    """Tokens of the answers, without the first one of each, which no draft can give."""
    drafted_without: int
    """Tokens that came from drafts of the conversation and of the answers before it alone."""
    drafted_with: int
    """The same with the documents."""
    tokens_per_step_without: float
    tokens_per_step_with: float


def estimate(records: Sequence[Record], documents: Sequence[Segment]) -> Estimate:
    """Replays the records in their order, on a machine where a batch costs hardly more than a
    single token."""
    without, with_them = _replayed(records, ()), _replayed(records, documents)
    return Estimate(
        len(records),
        without.tokens,
        without.tokens - without.steps,
        with_them.tokens - with_them.steps,
        without.tau,
        with_them.tau,
    )


def _replayed(records: Sequence[Record], documents: Sequence[Segment]) -> SetStatistics:
    cost = flat_cost(_LARGEST_BATCH)
    report = replay(records, [_POLICY], cost, True, _LARGEST_BATCH, documents)
    return report.policies[_POLICY][ALL]
