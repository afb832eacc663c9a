"""What the engine thread keeps of a chat: in the history, in the datastore, and its KV state."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from sssd_chat.conversation.history import ChatRecorder, StoredTurn
from sssd_chat.conversation.history.particulars import particulars_of

if TYPE_CHECKING:
    from sssd_chat.conversation.learning import Learner, LearningSettings
    from sssd_chat.conversation.session import ChatSession
    from sssd_chat.generation.engine import Generation
    from sssd_chat.generation.loading import LoadedEngine, State

_KEEPING_SECONDS = 5.0
"""How long a finished answer is waited for to be on the disk before it is learned from. What takes
longer is learned at the next start."""

log = logging.getLogger(__name__)


class ChatKeeping:
    """Keeps one running chat, as far as it is to be kept."""

    def __init__(
        self,
        recorder: ChatRecorder | None,
        learning: Callable[[], LearningSettings] | None,
        warn: Callable[[str], None],
    ) -> None:
        """The recorder keeps the chat; None keeps nothing. With `learning`, the datastore is looked
        after, and kept answers join it. `warn` is told what could not be done, once."""
        self._recorder = recorder
        self._learning = learning
        self._warn = warn
        self._learner: Learner | None = None
        self._fingerprint = ""
        self._recorder_failed = False
        self._learning_problem = ""

    def earlier(self) -> list[StoredTurn]:
        """The turns of the chat that goes on."""
        turns = [] if self._recorder is None else self._recorder.earlier()
        self._tell_problem()
        return turns

    def open(self, loaded: LoadedEngine) -> None:
        """The model is there; what it answers can be learned from."""
        self._fingerprint = loaded.model.vocabulary.fingerprint
        if self._learning is not None and loaded.datastore is not None:
            from sssd_chat.conversation.learning import Learner

            settings = self._learning()
            self._learner = Learner(loaded.datastore, loaded.model.vocabulary, settings)
            self._learner.start()

    def close_learning(self) -> None:
        """Ends the work on the datastore, before the model is freed."""
        if self._learner is not None:
            self._learner.close()

    def close(self) -> None:
        """Ends the work on the history."""
        if self._recorder is not None:
            self._recorder.close()

    # The state of a chat that is left, and opened again

    def resume(self, session: ChatSession) -> bool:
        """Whether the chat that goes on need not be read again, because its state was kept."""
        from sssd_chat.conversation.kept_states import resume_state

        return self._recorder is not None and resume_state(session, self._recorder)

    def leave(self, session: ChatSession) -> None:
        """Keeps the state of the chat: it is left."""
        from sssd_chat.conversation.kept_states import keep_state

        if self._recorder is None:
            return
        try:
            keep_state(session, self._recorder)
        except Exception:
            # It is a cache: the chat will be read again.
            log.exception("the state of the chat could not be kept")

    def new_chat(self) -> None:
        """The next question begins a chat of its own."""
        if self._recorder is not None:
            self._recorder.new_chat()

    # A turn

    def question(self, session: ChatSession, text: str) -> None:
        """Keeps a question; returns when it is on the disk."""
        if self._recorder is not None:
            system = session.settings.system
            self._recorder.question(text, system, session.model_name, self._fingerprint)
            self._tell_problem()

    def answer(
        self, session: ChatSession, generation: Generation[State], status: str
    ) -> Future[int | None] | None:
        """Keeps the answer as it is now; returns at once."""
        if self._recorder is None:
            return None
        text = session.written(generation)
        return self._recorder.answer(text, generation.tokens, status, *particulars_of(generation))

    def learn(self, generation: Generation[State], kept: Future[int | None] | None) -> None:
        """Lets a finished answer join the datastore. `kept` is what `answer` gave for it: the
        history is the truth, and what it could not keep is not learned either."""
        if self._learner is None:
            return
        self._learner.count(generation.statistics)
        with contextlib.suppress(TimeoutError):
            turn = None if kept is None else kept.result(_KEEPING_SECONDS)
            if self._recorder is not None and self._recorder.chat is not None and turn is not None:
                self._learner.learn(self._recorder.chat, turn, generation.tokens)
        if self._learner.problem and self._learner.problem != self._learning_problem:
            self._learning_problem = self._learner.problem
            self._warn(self._learning_problem)

    def _tell_problem(self) -> None:
        # Once is enough: the chat goes on without being kept.
        if self._recorder is not None and self._recorder.problem and not self._recorder_failed:
            self._recorder_failed = True
            self._warn(self._recorder.problem)
