from __future__ import annotations

import itertools
import random
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.datastore.document import Document
from sssd_chat.datastore.segment import Segment
from sssd_chat.datastore.snapshot import Place
from sssd_chat.datastore.store import Datastore
from sssd_chat.generation.engine import GenerationSettings
from sssd_chat.generation.provenance import DraftedToken, drafted_spans
from tests.conftest import LoadTiny

SEGMENT = Segment.of("notes", [Document.of("a", [1, 2, 3]), Document.of("b", [4, 5])])
PLACES = {None: None, "a": Place(SEGMENT, 1), "b": Place(SEGMENT, 4)}


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from([None, "a", "b"])), max_size=12))
def test_spans_cover_exactly_the_drafted_tokens(steps: list[tuple[int, str | None]]) -> None:
    tokens, index = [], 0
    for gap, document in steps:
        index += gap
        origin = "conversation" if document is None else "notes"
        tokens.append(DraftedToken(index, origin, PLACES[document]))
    spans = drafted_spans(tokens)
    covered = [
        (index, span.source, span.document)
        for span in spans
        for index in range(span.start, span.end)
    ]
    assert covered == [
        (token.at, token.origin, document)
        for token, (_, document) in zip(tokens, steps, strict=True)
    ]
    for before, after in itertools.pairwise(spans):
        assert before.end < after.start or (before.source, before.document) != (
            after.source,
            after.document,
        )


def test_an_answer_names_the_document_that_its_tokens_came_from(
    load_tiny: LoadTiny, tmp_path: Path
) -> None:
    loaded = load_tiny(can_end=False)
    prompt = [random.Random(3).randrange(3, 300) for _ in range(40)]
    settings = GenerationSettings(max_tokens=60)

    def answer() -> tuple[list[int], list[DraftedToken]]:
        conversation = loaded.engine.open(loaded.new_drafter())
        generation = loaded.engine.begin(conversation, prompt, settings)
        while not generation.is_finished:
            loaded.engine.step([generation])
        loaded.engine.close(conversation)
        return generation.tokens, generation.drafted

    plain, _ = answer()
    loaded.datastore = Datastore(tmp_path)
    loaded.datastore.add("chats", Document.of("7/12", plain))
    again, drafted = answer()
    assert again == plain
    spans = [span for span in drafted_spans(drafted) if span.source == "chats"]
    assert spans
    assert {span.document for span in spans} == {"7/12"}
    assert all(0 < span.start < span.end <= len(plain) for span in spans)
