"""A model that answers many requests at once, with the datastore that it drafts from."""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Callable

from sssd_chat.conversation.completions.choice import Choice
from sssd_chat.conversation.completions.prompting import PromptMaker
from sssd_chat.conversation.learning import Learner, LearningSettings
from sssd_chat.conversation.served import ServedTexts
from sssd_chat.datastore.document import Document
from sssd_chat.datastore.info import NotTheWriter
from sssd_chat.generation.batching import EngineService
from sssd_chat.generation.loading import EngineSettings, load_engine

log = logging.getLogger(__name__)


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
            self.prompts = PromptMaker(loaded, loaded.target.context_length)
        except BaseException:
            loaded.close()
            raise
        self.notices = [note for note in (loaded.notice, self.prompts.notice) if note]
        """What the user should know, a sentence each."""
        self._store = loaded.datastore
        self._learning = learning
        self._learner: Learner | None = None
        if self._store is not None:
            self._learner = Learner(self._store, loaded.model.vocabulary, learning)
            self._learner.start()
        self.service = EngineService(loaded)
        self._served: ServedTexts | None = None
        self._shared = ""

    def keep(self, caller: str, choice: Choice) -> None:
        """Lets an answer join the datastore for good, in the collection of a caller; returns at
        once."""
        if self._learner is None:
            return
        if self._served is None:
            self._served = ServedTexts(self._learning.texts, self._learner)
        self._served.add(caller, uuid.uuid4().hex, choice.written, choice.tokens)

    def share(self, choice: Choice) -> None:
        """Lets an answer be drafted from until this is closed."""
        if self._learner is None:
            return
        # A collection without texts behind it: what a program that was killed leaves of it is
        # dropped when the datastore is looked after the next time.
        self._shared = self._shared or f"shared-{uuid.uuid4().hex[:8]}"
        self._learner.add(self._shared, Document.of(uuid.uuid4().hex, choice.tokens))

    def close(self, deadline: float = 0.0) -> None:
        """Lets answers come to their end for so many seconds, and frees everything."""
        if self._served is not None:
            self._served.close()
        if self._learner is not None:
            self._learner.close()
        if self._store is not None and self._shared:
            with contextlib.suppress(NotTheWriter):
                try:
                    self._store.forget_collection(self._shared)
                except OSError as error:
                    log.warning("Shared answers are still in the datastore: %s", error)
        self.service.close(deadline)
