"""Characters of drafted tokens, against looking at every byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sssd_chat.conversation.history.origins import StoredSpan
from sssd_chat.conversation.provenance import SpanTracker
from sssd_chat.generation.provenance import DraftedToken

TEXTS = st.text(st.sampled_from("ab é€🙂"), min_size=1, max_size=12)


@st.composite
def answers(draw: st.DrawFn) -> tuple[list[bytes], list[str | None], int, int, str]:
    """Pieces of tokens, the source of each (None: the model itself), how many characters are
    thinking, how many are held back at the end, and what was there before."""
    text, thinking = draw(TEXTS), draw(st.one_of(st.just(""), TEXTS))
    data = (thinking + text).encode()
    cuts = sorted(draw(st.sets(st.integers(1, len(data)), max_size=8)) | {len(data)})
    pieces = [data[start:end] for start, end in zip([0, *cuts], cuts, strict=False)]
    sources = [draw(st.sampled_from([None, "conversation", "runner-ups"])) for _ in pieces]
    held = draw(st.integers(0, len(text)))
    return pieces, sources, len(thinking), held, text


@given(answers(), st.integers(1, 4), TEXTS)
def test_every_character_belongs_to_the_token_that_completes_it(
    answer: tuple[list[bytes], list[str | None], int, int, str], step: int, begun: str
) -> None:
    pieces, sources, thinking, held, _ = answer
    tracker = SpanTracker(pieces.__getitem__, begun)
    drafted: list[DraftedToken] = []
    live: dict[int, StoredSpan] = {}
    final = 0
    for start in range(0, len(pieces), step):
        tokens = range(start, min(start + step, len(pieces)))
        drafted += [DraftedToken(at, str(sources[at]), None) for at in tokens if sources[at]]
        done = b"".join(pieces[: tokens.stop]).decode("utf-8", "ignore")
        final = max(final, len(done) - held)
        shown = max(0, final - thinking)
        spans = tracker.feed(tokens, drafted, len(begun) + final, shown)
        live.update({span.start: span for span in spans})
    owner = [
        sources[at]
        for at, piece in enumerate(pieces)
        for _ in range(
            len(b"".join(pieces[: at + 1]).decode("utf-8", "ignore"))
            - len(b"".join(pieces[:at]).decode("utf-8", "ignore"))
        )
    ][thinking:]
    shown = max(0, final - thinking)
    expected = owner[:shown]
    found: list[str | None] = [None] * shown
    for span in tracker.all_spans(drafted):
        assert 0 <= span.start < span.end <= shown
        found[span.start : span.end] = [span.source] * (span.end - span.start)
    assert found == expected
    # While it is written, a token that is not final as a whole is in no span yet.
    for span in live.values():
        assert expected[span.start : span.end] == [span.source] * (span.end - span.start)
