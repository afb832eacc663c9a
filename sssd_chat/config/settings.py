"""All settings, their defaults, and what each is for."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
"""Number formats of a KV cache, as llama.cpp calls them."""
FLASH_ATTENTION = ("auto", "on", "off")
"""Whether attention is computed in one pass; "auto" is for what is usually faster."""


def _setting(
    default: Any,
    purpose: str,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    choices: tuple[str, ...] = (),
    at_once: bool = False,
) -> Any:
    about = {
        "purpose": purpose,
        "low": low,
        "high": high,
        "choices": choices,
        "at_once": at_once,
    }
    return field(default=default, metadata=about)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which model runs, and how."""

    path: str | None = _setting(None, "GGUF file; the starter model without one")
    folders: tuple[str, ...] = _setting((), "more folders in which models are found")
    context: int | None = _setting(
        None, "tokens of context; what the model was trained for, at most 8192, without it", 16
    )
    threads: int | None = _setting(
        None, "for one token at a time; as tuned without it, or the physical cores", 1, 1024
    )
    threads_batch: int | None = _setting(
        None, "for prompts and drafts; as tuned without it, or as many as `threads`", 1, 1024
    )
    flash_attention: str | None = _setting(
        None,
        "as tuned without it, or auto: off on a CPU, on a GPU where it can",
        choices=FLASH_ATTENTION,
    )
    cache_type_k: str | None = _setting(
        None, "numbers of the KV cache's keys; f16 without it", choices=CACHE_TYPES
    )
    cache_type_v: str | None = _setting(
        None,
        "numbers of its values; f16 without it; with less, flash attention is on",
        choices=CACHE_TYPES,
    )
    gpu_layers: int | None = _setting(
        None, "layers to offload, -1 for all; without it, all that fit", -1
    )
    rpc_servers: tuple[str, ...] = _setting(
        (), "HOST:PORT of llama.cpp servers (rpc-server) that take layers"
    )


@dataclass(frozen=True, slots=True)
class AnswerConfig:
    """How answers are written."""

    system: str = _setting("", "system prompt of new chats")
    max_tokens: int | None = _setting(None, "longest answer, in tokens; no limit without it", 1)
    temperature: float = _setting(0.7, "0 always takes the likeliest token", 0, 100)
    top_p: float = _setting(0.95, "total probability of the tokens drawn from; 1 is off", 0, 1)
    top_k: int = _setting(40, "number of tokens drawn from; 0 is off", 0)
    min_p: float = _setting(0.05, "least probability, against the likeliest's; 0 is off", 0, 1)
    repeat_penalty: float = _setting(1.0, "over 1 discourages repetition; 1 is off", 0.01, 10)
    drafting: bool = _setting(True, "false decodes plainly")
    thinking: bool | None = _setting(
        None, "whether the model is asked to think first; as its template has it without"
    )


@dataclass(frozen=True, slots=True)
class DatastoreConfig:
    """What drafts are looked up in."""

    learn: bool = _setting(True, "whether answers are learned, so that later ones come faster")
    starter: bool = _setting(True, "whether the starter collection is looked at")


@dataclass(frozen=True, slots=True)
class HistoryConfig:
    """Which chats are kept."""

    keep: bool = _setting(True, "false keeps no chat from now on")
    keep_asked: bool = _setting(False, "whether each plain `sssd-chat ask` is kept as a chat")


@dataclass(frozen=True, slots=True)
class PrefillConfig:
    """Reading ahead while the user types."""

    while_typing: bool = _setting(True, "whether the question is read while it is typed")
    on_battery: bool = _setting(False, "whether that is done on battery too")


@dataclass(frozen=True, slots=True)
class StateCacheConfig:
    """Chats as the model holds them, kept on disk so that they open at once."""

    megabytes: int = _setting(1024, "most space on the disk; 0 keeps nothing", 0)


@dataclass(frozen=True, slots=True)
class ImportConfig:
    """Files that become part of the datastore."""

    largest_file_mb: int = _setting(512, "larger files are left out", 1, at_once=True)


@dataclass(frozen=True, slots=True)
class ScreenConfig:
    """The chat in the terminal."""

    theme: str = _setting(
        "dark", "dark, light, or one that the palette's Theme lists", at_once=True
    )
    bell: bool = _setting(
        False, "whether the terminal's bell rings when a long answer is finished", at_once=True
    )
    notify: bool = _setting(
        True, "whether the desktop tells so when you are in another window", at_once=True
    )
    long_answer_seconds: float = _setting(
        10.0, "answers that take less are finished without a sign", 0, at_once=True
    )


@dataclass(frozen=True, slots=True)
class Config:
    """All settings. `Config()` holds the defaults."""

    model: ModelConfig = ModelConfig()
    answer: AnswerConfig = AnswerConfig()
    datastore: DatastoreConfig = DatastoreConfig()
    history: HistoryConfig = HistoryConfig()
    prefill: PrefillConfig = PrefillConfig()
    state_cache: StateCacheConfig = StateCacheConfig()
    imports: ImportConfig = ImportConfig()
    screen: ScreenConfig = ScreenConfig()
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys of the chat that the user changed, by the name of what they do; not looked at here."""
    given: frozenset[str] = field(default=frozenset(), compare=False)
    """The settings that the file has, e.g. "answer.temperature"; the others have their defaults."""
    notices: tuple[str, ...] = ()
    """What is wrong with the file, a sentence for each; to be told to the user."""


_NO_SECTIONS = frozenset({"keys", "given", "notices"})
"""What `Config` holds beside the sections of settings."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: where it is and what it may be."""

    section: str
    """As the file has it."""
    attribute: str
    """Of `Config`; the name of the section, except where that is a word of Python."""
    name: str
    kind: type
    """bool, int, float, str or tuple (of str)."""
    default: Any
    purpose: str
    low: float
    high: float
    choices: tuple[str, ...]
    """The texts that it may be; empty for any text."""
    at_once: bool
    """Whether a running chat follows a change; else it counts from the next start on."""

    @property
    def key(self) -> str:
        """As the user writes it, e.g. "answer.temperature"."""
        return f"{self.section}.{self.name}"

    @property
    def expected(self) -> str:
        """What it may be, in words."""
        if self.kind in (int, float):
            word = "a whole number" if self.kind is int else "a number"
            if self.high == math.inf:
                return word if self.low == -math.inf else f"{word}, {self.low:g} or more"
            return f"{word} from {self.low:g} to {self.high:g}"
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return {bool: "true or false", str: "text", tuple: "a list of texts"}[self.kind]

    def checked(self, value: object) -> Any:
        """`value` as the setting takes it. Raises ValueError when it does not."""
        if self.kind is tuple:
            if isinstance(value, list) and all(isinstance(item, str) for item in value):
                return tuple(value)
        elif self.kind is float and isinstance(value, int | float) and not isinstance(value, bool):
            if self.low <= value <= self.high:
                return float(value)
        elif self.kind is str:
            if isinstance(value, str) and value in (self.choices or (value,)):
                return value
        elif type(value) is self.kind and (
            self.kind is not int or self.low <= typing.cast(int, value) <= self.high
        ):
            return value
        raise ValueError(f"expected {self.expected}")

    def of(self, config: Config) -> Any:
        """Its value in `config`."""
        return getattr(getattr(config, self.attribute), self.name)


def all_settings() -> Iterator[Setting]:
    """Every setting, in the order of the sections."""
    for section in sections():
        yield from settings_of(section)


def sections() -> list[dataclasses.Field[Any]]:
    """The sections, as fields of `Config`."""
    return [section for section in dataclasses.fields(Config) if section.name not in _NO_SECTIONS]


def section_name(section: dataclasses.Field[Any]) -> str:
    """The section as the file has it."""
    return "import" if section.name == "imports" else section.name


def settings_of(section: dataclasses.Field[Any]) -> Iterator[Setting]:
    """The settings of one section."""
    holder: Any = type(section.default)
    hints = typing.get_type_hints(holder)
    for one in dataclasses.fields(holder):
        yield Setting(
            section_name(section),
            section.name,
            one.name,
            _kind(hints[one.name]),
            one.default,
            one.metadata["purpose"],
            one.metadata["low"],
            one.metadata["high"],
            one.metadata["choices"],
            one.metadata["at_once"],
        )


def _kind(hint: Any) -> type:
    """The type without the None of those that may be missing."""
    if isinstance(hint, types.UnionType):
        (hint,) = (part for part in typing.get_args(hint) if part is not type(None))
    return typing.cast(type, typing.get_origin(hint) or hint)
