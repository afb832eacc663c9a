"""Many answers at once: sequences join and leave a batch that goes on."""

from sssd_chat.generation.batching.request import Phase, Progress, Request, Ticket, Times
from sssd_chat.generation.batching.scheduler import Figures, Scheduler
from sssd_chat.generation.batching.service import EngineService, Handle
from sssd_chat.llama.grammar import grammar_of_schema
from sssd_chat.llama.logprobs import TokenLogprob

__all__ = [
    "EngineService",
    "Figures",
    "Handle",
    "Phase",
    "Progress",
    "Request",
    "Scheduler",
    "Ticket",
    "Times",
    "TokenLogprob",
    "grammar_of_schema",
]
