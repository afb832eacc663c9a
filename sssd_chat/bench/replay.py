"""Runs drafters over recorded answers, without a model."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sssd_chat.bench.calibration import Calibration
from sssd_chat.bench.prompt_lookup import PromptLookupDrafter
from sssd_chat.bench.records import Record
from sssd_chat.datastore.segment import Segment
from sssd_chat.drafting import (
    ROOT,
    Drafter,
    DraftTree,
    ObservedStep,
    PlainDrafter,
    ReferenceDrafter,
    SssdDrafter,
)
from sssd_chat.drafting.reference import published_size
from sssd_chat.drafting.size import best_size, floor, padded_sizes
from sssd_chat.drafting.sources.growing import GrowingSource
from sssd_chat.errors import UserError

ALL = "all"
"""Name of the set that all records belong to."""
REFERENCE = "sssd-reference"
BEST = "best"
REFERENCE_SIZES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Fixed sizes that `sssd-reference:best` chooses from, root included."""
POLICIES = ("plain", "prompt-lookup", REFERENCE, "sssd")
"""Policies by name. `sssd-reference:N` is the reference with N tokens a step, root included, and
`sssd-reference:best` the best such N for the cost at hand."""


@dataclass(slots=True)
class SetStatistics:
    """What a policy did on one question set."""

    tau: float
    """Tokens emitted a step."""
    speedup: float
    """Time of plain decoding over the time of these steps, by the cost table."""
    draft_size: float
    """Mean number of drafted tokens a step, root not counted."""
    acceptance: float | None
    """Accepted over tested drafted tokens; None when none was tested."""
    draft_us_median: float
    """Microseconds that one draft took."""
    draft_us_p99: float
    """The 99th percentile of the same."""
    tokens: int
    """Tokens emitted after the first one of each answer."""
    steps: int
    """Steps that they took."""
    observe_us_median: float
    """Microseconds that learning from one step took."""


@dataclass(slots=True)
class ReplayReport:
    """The outcome of a replay; turned into JSON, the shape that the command line prints."""

    policies: dict[str, dict[str, SetStatistics]] = field(default_factory=dict)
    """Policy name, then set name or `all`."""
    calibration: dict[str, Calibration] = field(default_factory=dict)
    """Policy name; how far its probabilities came true. Policies that draft by fixed size or
    without probabilities are not listed."""


@dataclass(slots=True)
class _Tally:
    """Sums of one policy over one set."""

    tokens: int = 0
    steps: int = 0
    drafted: int = 0
    tested: int = 0
    accepted: int = 0
    cost: float = 0.0
    draft_ns: list[int] = field(default_factory=list)
    observe_ns: list[int] = field(default_factory=list)

    def result(self, plain_cost: float) -> SetStatistics:
        """The sums as rates; answers of one token take no step and count as plain."""
        steps = self.steps or 1
        return SetStatistics(
            tau=self.tokens / steps if self.steps else 1.0,
            speedup=self.tokens * plain_cost / self.cost if self.steps else 1.0,
            draft_size=self.drafted / steps,
            acceptance=self.accepted / self.tested if self.tested else None,
            draft_us_median=_percentile(self.draft_ns, 50) / 1000,
            draft_us_p99=_percentile(self.draft_ns, 99) / 1000,
            tokens=self.tokens,
            steps=self.steps,
            observe_us_median=_percentile(self.observe_ns, 50) / 1000,
        )


@dataclass(slots=True)
class _Policy:
    """A drafter and the rule for the size of its drafts."""

    drafter: Drafter
    fixed_size: int | None
    """Tokens a step, root included; None to choose by cost."""
    has_probabilities: bool


def replay(
    records: Sequence[Record],
    policies: Sequence[str],
    cost: Sequence[float],
    growing: bool = False,
    largest_batch: int = 32,
    earlier: Sequence[Segment] = (),
) -> ReplayReport:
    """Runs each policy over all records, in order, as one user would have asked them.

    `cost[n]` is the time of a batch of n tokens and reaches `largest_batch` or further. `earlier`
    is what the datastore holds before the first question. With `growing`, each finished answer
    joins it before the next one. Raises UserError for an unknown policy.
    """
    cost = list(cost[: largest_batch + 1])

    def new_store() -> GrowingSource | None:
        return GrowingSource(earlier) if growing or earlier else None

    report = ReplayReport()
    for name in policies:
        if name == f"{REFERENCE}:{BEST}":
            report.policies[name] = _best_reference(records, cost, growing, new_store)
            continue
        store = new_store()
        policy = _policy(name, store, largest_batch)
        calibration = Calibration()
        tallies = _run(policy, records, cost, store if growing else None, calibration)
        report.policies[name] = {key: tally.result(cost[1]) for key, tally in tallies.items()}
        if policy.has_probabilities:
            report.calibration[name] = calibration
    return report


def _policy(name: str, store: GrowingSource | None, largest_batch: int) -> _Policy:
    kind, _, size = name.partition(":")
    if kind == REFERENCE and (not size or (size.isdecimal() and int(size) > 0)):
        tokens = int(size) if size else published_size(1)
        return _Policy(ReferenceDrafter(store), min(tokens, largest_batch), True)
    makers: dict[str, Callable[[], _Policy]] = {
        "plain": lambda: _Policy(PlainDrafter(), 1, False),
        "prompt-lookup": lambda: _Policy(PromptLookupDrafter(), largest_batch, False),
        "sssd": lambda: _Policy(SssdDrafter(datastore=store), None, True),
    }
    if name not in makers:
        raise UserError(f"there is no policy {name!r}; choose from {', '.join(POLICIES)}")
    return makers[name]()


def _best_reference(
    records: Sequence[Record],
    cost: Sequence[float],
    growing: bool,
    new_store: Callable[[], GrowingSource | None],
) -> dict[str, SetStatistics]:
    """The reference at the fixed size that is fastest over all records."""
    best: dict[str, SetStatistics] = {}
    for size in (size for size in REFERENCE_SIZES if size < len(cost)):
        store = new_store()
        policy = _Policy(ReferenceDrafter(store), size, True)
        tallies = _run(policy, records, cost, store if growing else None, Calibration())
        found = {key: tally.result(cost[1]) for key, tally in tallies.items()}
        if not best or found[ALL].speedup > best[ALL].speedup:
            best = found
    return best


def _run(
    policy: _Policy,
    records: Sequence[Record],
    cost: Sequence[float],
    store: GrowingSource | None,
    calibration: Calibration,
) -> dict[str, _Tally]:
    tallies = {ALL: _Tally()}
    for record in records:
        tally = tallies.setdefault(record.set, _Tally())
        _run_record(policy, record, cost, (tallies[ALL], tally), calibration)
        if store is not None:
            store.add(record.out)
    return tallies


def _run_record(
    policy: _Policy,
    record: Record,
    cost: Sequence[float],
    tallies: tuple[_Tally, ...],
    calibration: Calibration,
) -> None:
    drafter = policy.drafter
    padded = padded_sizes(cost)
    lowest = floor(cost) if policy.fixed_size is None else 0.0
    budget = (policy.fixed_size or len(cost) - 1) - 1
    drafter.begin(record.prompt)
    # Prefill gives the first token: a step with nothing but the root to verify.
    first = ObservedStep(DraftTree(), [], [record.out[0]], [(ROOT, record.top[0])])
    drafter.observe(first)
    done = 1
    while done < len(record.out):
        start = time.perf_counter_ns()
        tree = drafter.draft(budget, lowest)
        draft_ns = time.perf_counter_ns() - start
        if policy.fixed_size is None:
            tree = tree.first(best_size(tree.probabilities, cost))
        step = verified(tree, record, done)
        calibration.add_step(tree, step.path)
        start = time.perf_counter_ns()
        drafter.observe(step)
        observe_ns = time.perf_counter_ns() - start
        done += len(step.emitted)
        tested = _tested(tree, step.path)
        for tally in tallies:
            tally.tokens += len(step.emitted)
            tally.steps += 1
            tally.drafted += len(tree)
            tally.tested += tested
            tally.accepted += len(step.path)
            tally.cost += cost[padded[len(tree) + 1]]
            tally.draft_ns.append(draft_ns)
            tally.observe_ns.append(observe_ns)


def verified(tree: DraftTree, record: Record, done: int) -> ObservedStep:
    """The step that the model would have made of `tree` with `done` tokens of the answer known."""
    children = {
        (parent, token): node
        for node, (parent, token) in enumerate(zip(tree.parents, tree.tokens, strict=True))
    }
    path: list[int] = []
    place, node = done, ROOT
    best_tokens = [(ROOT, record.top[done])]
    while place < len(record.out):
        child = children.get((node, record.out[place]))
        place += 1
        if child is None:
            break
        path.append(child)
        node = child
        if place < len(record.out):
            best_tokens.append((node, record.top[place]))
    return ObservedStep(tree, path, list(record.out[done:place]), best_tokens)


def _tested(tree: DraftTree, path: list[int]) -> int:
    """Nodes whose parent is the root or was accepted."""
    reached = {ROOT, *path}
    return sum(parent in reached for parent in tree.parents)


def _percentile(values: list[int], percent: int) -> float:
    if len(values) < 2:
        return float(values[0]) if values else 0.0
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]
