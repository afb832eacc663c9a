"""A loaded model with the session that asks it, for as long as it is loaded."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sssd_chat.conversation.events import ContextFilled, CostCurve, Event, TurnsLeftOut
from sssd_chat.conversation.parameters import with_parameters
from sssd_chat.conversation.session import ChatSession

if TYPE_CHECKING:
    from sssd_chat.conversation.engine_thread.open_chat import ScreenChat
    from sssd_chat.conversation.learning import Learner, LearningSettings
    from sssd_chat.conversation.session import ChatSettings
    from sssd_chat.conversation.shown import AnswerParameters
    from sssd_chat.generation.loading import LoadedEngine

_SAVE_SECONDS = 120.0
_CURVE_SECONDS = 1.0

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Running:
    """Made in the engine thread, and used there."""

    loaded: LoadedEngine
    session: ChatSession
    base: ChatSettings
    """The settings, without what a chat wants."""
    learner: Learner | None
    emit: Callable[[Event], None]
    left_out: int = 0
    """Turns left out of the prompt, as the screen was told."""
    _next_save: float = 0.0
    _next_curve: float = 0.0
    _curve: CostCurve | None = None

    @classmethod
    def begin(
        cls,
        loaded: LoadedEngine,
        base: ChatSettings,
        learning: LearningSettings | None,
        emit: Callable[[Event], None],
    ) -> Running:
        """Opens a session with a loaded model. Raises UserError when its template is broken."""
        session = ChatSession(loaded, base)
        learner = None
        if learning is not None and loaded.datastore is not None:
            from sssd_chat.conversation.learning import Learner

            learner = Learner(loaded.datastore, loaded.model.vocabulary, learning)
            learner.start()
        return cls(loaded, session, base, learner, emit, _next_save=time.monotonic())

    def end(self) -> None:
        """Ends the work on the datastore; the model can be freed then."""
        if self.learner is not None:
            self.learner.close()

    @property
    def fingerprint(self) -> str:
        """That of the vocabulary."""
        return self.loaded.model.vocabulary.fingerprint

    # The chat

    def prepare(
        self, chat: ScreenChat, drafting: bool, *more: AnswerParameters, before: int | None = None
    ) -> None:
        """Brings the session in line with the chat as it is before a question (None: at its
        end)."""
        settings = with_parameters(self.base, [chat.parameters, *more])
        settings = replace(
            settings,
            system=chat.system_prompt,
            generation=replace(settings.generation, drafting=drafting),
        )
        self.session.change(settings)
        self.session.follow(chat.messages(before))

    def enter(self, chat: ScreenChat, drafting: bool) -> None:
        """Goes on with another chat."""
        from sssd_chat.conversation.kept_states import resume_state

        self.session.reset()
        self.left_out = 0
        self.prepare(chat, drafting)
        if chat.recorder is not None and resume_state(self.session, chat.recorder):
            self.emit(ContextFilled(self.session.context_tokens))
            self.tell_left_out()

    def leave(self, chat: ScreenChat) -> None:
        """Keeps the state of the chat: it is left."""
        from sssd_chat.conversation.kept_states import keep_state

        if chat.recorder is None:
            return
        try:
            keep_state(self.session, chat.recorder)
        except Exception:
            # It is a cache: the chat will be read again.
            log.exception("the state of the chat could not be kept")

    def tell_left_out(self) -> None:
        """Tells the screen how many turns the prompt goes without, if that changed."""
        if self.session.turns_left_out != self.left_out:
            self.left_out = self.session.turns_left_out
            self.emit(TurnsLeftOut(self.left_out))

    # What is learned

    def save_now_and_then(self) -> None:
        """What was learned is kept at the end; a crash may cost a few minutes of it."""
        if time.monotonic() >= self._next_save + _SAVE_SECONDS:
            self.loaded.save()
            self._next_save = time.monotonic()

    def tell_curve(self, chosen: int | None, *, now: bool = False) -> None:
        """Tells the screen what steps cost, if that changed: each second at most, or `now`."""
        if not now and time.monotonic() < self._next_curve:
            return
        self._next_curve = time.monotonic() + _CURVE_SECONDS
        cost = self.loaded.engine.cost
        if not cost.is_known:
            return
        seconds = cost.seconds(self.session.context_tokens)
        sizes = tuple(sorted(size for size in cost.measured_sizes() if size < len(seconds)))
        curve = CostCurve(sizes, tuple(round(1e3 * seconds[size], 3) for size in sizes), chosen)
        if curve != self._curve:
            self._curve = curve
            self.emit(curve)
