"""Random token texts, and drafters run over them without a model."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import strategies as st

from sssd_chat.drafting import ROOT, Drafter, DraftTree, ObservedStep

texts = st.lists(st.integers(0, 3), max_size=40)
"""Short texts of a tiny vocabulary, so that everything repeats."""


def looping_text(seed: int, length: int, phrases: int = 12) -> list[int]:
    """A text of phrases that come again, now and then with one token replaced. All seeds share
    their phrases."""
    chance = random.Random(0)
    known = [
        [chance.randrange(500) for _ in range(chance.randrange(3, 15))] for _ in range(phrases)
    ]
    chance = random.Random(seed)
    text: list[int] = []
    while len(text) < length:
        phrase = list(chance.choice(known))
        if chance.random() < 0.2:
            phrase[chance.randrange(len(phrase))] = chance.randrange(500)
        text += phrase
    return text[:length]


def verified(tree: DraftTree, answer: Sequence[int], done: int) -> ObservedStep:
    """The step of a target that will write `answer` and has written `done` tokens of it."""
    path: list[int] = []
    node, place = ROOT, done
    best = [(ROOT, (answer[done], 7, 8))]
    while place < len(answer):
        wanted = answer[place]
        place += 1
        child = next(
            (
                index
                for index, (parent, token) in enumerate(zip(tree.parents, tree.tokens, strict=True))
                if parent == node and token == wanted
            ),
            None,
        )
        if child is None:
            break
        path.append(child)
        node = child
        if place < len(answer):
            best.append((node, (answer[place], 7, 8)))
    return ObservedStep(tree, path, list(answer[done:place]), best)


def write(
    drafter: Drafter,
    prompt: Sequence[int],
    answer: Sequence[int],
    budget: int = 15,
    floor: float = 0.01,
) -> list[DraftTree]:
    """Lets the drafter follow an answer to its end, and returns all drafts."""
    drafter.begin(prompt)
    drafts: list[DraftTree] = []
    done = 0
    while done < len(answer):
        tree = drafter.draft(budget, floor)
        step = verified(tree, answer, done)
        drafter.observe(step)
        drafts.append(tree)
        done += len(step.emitted)
    return drafts
