"""A model that answers many requests at once, with the datastore that it drafts from."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from sssd_chat.conversation.completions.choice import Choice
from sssd_chat.conversation.completions.prompting import PromptMaker
from sssd_chat.conversation.learning import Learner, LearningSettings
from sssd_chat.conversation.served import ServedTexts
from sssd_chat.datastore.document import Document
from sssd_chat.datastore.info import NotTheWriter
from sssd_chat.errors import UsageError
from sssd_chat.generation.batching import EngineService
from sssd_chat.generation.loading import EngineSettings, load_engine

log = logging.getLogger(__name__)

_MOST_WAITING = 256
"""Answers that wait to be kept."""


class ManyAnswers:
    """The model, its engine thread, and what looks after the datastore meanwhile. Close it."""

    def __init__(
        self,
        engine: EngineSettings,
        learning: LearningSettings,
        on_load: Callable[[float], bool] | None = None,
    ) -> None:
        """Loads the model. Raises UserError when it cannot be used, LoadCancelled when `on_load`,
        which is told the progress from 0 to 1, returned False."""
        loaded = load_engine(engine, on_load)
        try:
            _check_context(engine, loaded.target.context_length)
            self.prompts = PromptMaker(loaded, loaded.target.context_length)
        except BaseException:
            loaded.close()
            raise
        self.notices = [note for note in (loaded.notice, self.prompts.notice) if note]
        """What the user should know, a sentence each."""
        self._store = loaded.datastore
        self._learner: Learner | None = None
        self._served: ServedTexts | None = None
        if self._store is not None:
            self._learner = Learner(self._store, loaded.model.vocabulary, learning)
            self._learner.start()
            self._served = ServedTexts(learning.texts, self._learner)
        self._vocabulary = loaded.model.vocabulary
        self.service = EngineService(loaded)
        # The disk may be slow, and neither clients nor the engine shall wait for it.
        self._work = ThreadPoolExecutor(1, thread_name_prefix="keeping")
        self._room = threading.Semaphore(_MOST_WAITING)
        self._shared = f"shared-{uuid.uuid4().hex[:8]}"
        self._has_shared = False
        self._closing = threading.Event()

    def count(self, choice: Choice) -> None:
        """Notes what each collection saved with an answer; returns at once."""
        if (learner := self._learner) is not None and choice.statistics.accepted:
            self._later(lambda: learner.count(choice.statistics))

    def keep(self, caller: str, choice: Choice) -> None:
        """Lets an answer join the datastore for good, in the collection of a caller; returns at
        once. When the disk is far behind, answers are left out."""
        if (served := self._served) is not None:
            name = uuid.uuid4().hex
            self._later(lambda: served.add(caller, name, choice.written, choice.tokens))

    def share(self, choice: Choice) -> None:
        """Lets an answer be drafted from until this is closed."""
        if self._learner is None:
            return
        # A collection without texts behind it: what a program that was killed leaves of it is
        # dropped when the datastore is looked after the next time.
        self._has_shared = True
        self._learner.add(self._shared, Document.of(uuid.uuid4().hex, choice.tokens))

    def share_texts(self, texts: Iterable[str]) -> None:
        """Does the same with answers of an earlier run, of which the texts alone are there; returns
        at once."""
        if (learner := self._learner) is None:
            return
        self._has_shared = True

        def run() -> None:
            for text in texts:
                if self._closing.is_set():
                    return
                tokens = self._vocabulary.tokenize(text)
                learner.add(self._shared, Document.of(uuid.uuid4().hex, tokens))

        self._later(run)

    def _later(self, work: Callable[[], None]) -> None:
        if not self._room.acquire(blocking=False):
            return

        def run() -> None:
            try:
                work()
            except Exception:
                log.exception("an answer could not be kept")
            finally:
                self._room.release()

        self._work.submit(run)

    def close(self, deadline: float = 0.0) -> None:
        """Lets answers come to their end for so many seconds, and frees everything."""
        self._closing.set()
        self._work.shutdown()
        if self._served is not None:
            self._served.close()
        if self._learner is not None:
            self._learner.close()
        if self._store is not None and self._has_shared:
            try:
                self._store.forget_collection(self._shared)
            except NotTheWriter:
                # Then it was in the memory of this program alone.
                pass
            except OSError as error:
                log.warning("Shared answers are still in the datastore: %s", error)
        self.service.close(deadline)


def _check_context(engine: EngineSettings, length: int) -> None:
    """Raises UsageError where each answer has a context of `length` tokens, fewer than were asked
    for: a model with a recurrent state has a part of the cells for each."""
    wanted = engine.context_length
    if engine.cells is not None and wanted is not None and length < min(wanted, engine.cells):
        raise UsageError(
            f"{engine.path.name} divides its cells evenly: {wanted} tokens for each of "
            f"{engine.sequences} answers take --cells {wanted * engine.sequences} or more."
        )
