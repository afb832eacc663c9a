"""What comes of a draft, by what it promises: the profile by which `sssd-chat tune` judges.

    python bench/acceptance.py RECORDS.jsonl

The recorded answers are replayed in order, each finished one joining the datastore, with drafts of
63 nodes. Steps are sorted by what their drafts promise and cut into classes that emit equally many
tokens. For each class, E(n) is the mean number of tokens that a batch of n would have emitted:
what a size can be chosen by, and what comes of it. Prints the table of
`sssd_chat/diagnosis/acceptance.py`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sssd_chat.bench.records import Record, read_records
from sssd_chat.bench.replay import verified
from sssd_chat.drafting import ROOT, DraftTree, ObservedStep, SssdDrafter
from sssd_chat.drafting.sources.growing import GrowingSource

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
CLASSES = 10
_PROMISE = 16
"""Nodes whose probabilities sort a step."""

Step = tuple[float, list[int]]
"""What the draft promised, and the accepted nodes among the first n - 1, for each of SIZES."""


def main() -> None:
    """Replays and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path)
    records = read_records([parser.parse_args().records])
    steps = sorted(steps_of(records), key=lambda step: step[0])
    tokens = sum(1 + counts[-1] for _, counts in steps)
    print(f"# {len(records)} answers, {tokens} tokens, {len(steps)} steps")
    members: list[Step] = []
    left = 0
    for number, step in enumerate(steps):
        members.append(step)
        left += 1 + step[1][-1]
        if left >= tokens / CLASSES or number == len(steps) - 1:
            means = [
                sum(counts[n] for _, counts in members) / len(members) for n in range(len(SIZES))
            ]
            row = ", ".join(f"{1 + mean:.2f}" for mean in means)
            print(f"    ({left / tokens:.3f}, ({row})),")
            members, left = [], 0


def steps_of(records: list[Record]) -> list[Step]:
    """Every step of the replay."""
    store = GrowingSource(())
    drafter = SssdDrafter(datastore=store)
    steps: list[Step] = []
    for record in records:
        drafter.begin(record.prompt)
        drafter.observe(ObservedStep(DraftTree(), [], [record.out[0]], [(ROOT, record.top[0])]))
        done = 1
        while done < len(record.out):
            tree = drafter.draft(SIZES[-1] - 1, 0.0)
            step = verified(tree, record, done)
            counts = [sum(node < size - 1 for node in step.path) for size in SIZES]
            steps.append((sum(tree.probabilities[:_PROMISE]), counts))
            drafter.observe(step)
            done += len(step.emitted)
        store.add(record.out)
    return steps


if __name__ == "__main__":
    main()
