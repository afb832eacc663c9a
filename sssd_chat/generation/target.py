"""What the loop asks of a target model. `sssd_chat.llama.Target` is the real one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from sssd_chat.drafting import DraftTree
from sssd_chat.llama.sampler import Logits
from sssd_chat.llama.shape import DraftShape


class SequenceState(Protocol):
    """One text that the target holds."""

    tokens: list[int]
    """The committed tokens."""


State = TypeVar("State", bound=SequenceState)


class VerifyingTarget(Protocol[State]):
    """Reads prompts and verifies drafts; see `sssd_chat.llama.target.Target` for each member."""

    context_length: int
    cells: int
    max_sequences: int

    @property
    def shape(self) -> DraftShape:
        """What drafts may look like."""

    @property
    def max_draft(self) -> int:
        """Most nodes of one draft, its padding included."""

    @property
    def max_batch(self) -> int:
        """Most tokens of one batch."""

    @property
    def max_branches(self) -> int:
        """Most leaves of all drafts of a batch, beyond the first of each."""

    @property
    def least_shared(self) -> int | None:
        """From so many tokens on, `share` is sooner done than reading them; None for never."""

    @property
    def most_reads(self) -> int | None:
        """Prompts whose parts a batch can hold without being taken apart; None for any number."""

    def open_sequence(self) -> State:
        """A new, empty text."""

    def close_sequence(self, sequence: State) -> None:
        """Drops a text."""

    def rewind(self, sequence: State, length: int) -> int:
        """Shortens a text to at most `length` tokens; the length that could be kept."""

    def share(self, source: State, sequence: State, length: int) -> int:
        """Makes the first `length` tokens of `source` the text of `sequence`, which begins them;
        the length that it has then."""

    def prefill(
        self,
        sequence: State,
        tokens: Sequence[int],
        on_progress: Callable[[int], bool] | None = None,
    ) -> bool:
        """Makes `tokens` the text; False when `on_progress` said to stop."""

    def read_ahead(
        self, sequence: State, tokens: Sequence[int], keep_going: Callable[[], bool]
    ) -> int:
        """Reads the beginning of a prompt that is still being made; the tokens that are there."""

    def verify(
        self,
        items: Sequence[tuple[State, int, DraftTree]],
        padding: int = 0,
        reads: Sequence[tuple[State, Sequence[int], bool]] = (),
    ) -> float:
        """Decodes roots and trees in one batch with the next tokens of texts that are read; the
        seconds it took."""

    def commit(self, sequence: State, path: Sequence[int]) -> None:
        """Keeps the root and the nodes of `path`."""

    def logits(self, sequence: State, node: int = -1) -> Logits:
        """The logits after a node of the last batch."""
