"""Which of the files of a repository to take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from sssd_chat.errors import UserError

PREFERRED = (
    "Q4_K_M",
    "Q4_K_S",
    "Q4_K_XL",
    "Q4_0",
    "IQ4_XS",
    "IQ4_NL",
    "MXFP4",
    "Q5_K_M",
    "Q5_K_S",
    "Q4_1",
    "Q6_K",
    "Q8_0",
)
"""The first of these that there is, and that fits into memory, is taken when none is named."""
BATCHES_WELL = ("Q4_K_M", "Q4_K_S", "Q4_0", "Q8_0")
"""Formats in which checking four tokens at once was measured to cost less than twice one token on a
CPU; see docs/drafting.md."""

_LABEL = re.compile(
    r"(?<![A-Za-z0-9])(I?Q\d(?:_[0-9A-Z]+)*|TQ\d_0|MXFP4(?:_MOE)?|NVFP4|BF16|F16|F32|FP16|FP32)"
    r"(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)
_NO_MODEL = re.compile(r"mmproj|imatrix|(?<![a-z])lora(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a repository."""

    name: str
    """Its path in the repository."""
    size: int
    """Bytes."""
    sha256: str | None
    """Of its contents, where the repository tells; small files have none."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One model of a repository: a file, or all parts of a split one."""

    files: tuple[RemoteFile, ...]
    quantization: str | None
    """As the name of the file has it."""

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(file.size for file in self.files)

    @property
    def label(self) -> str:
        """How it is named to a person: its quantization, or its file."""
        return self.quantization or PurePosixPath(self.files[0].name).name


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen, and why, as the end of a sentence."""

    offer: Offer
    why: str


def offers(files: Sequence[RemoteFile]) -> list[Offer]:
    """The models among the files of a repository; parts that are not all there make none."""
    groups: dict[str, list[RemoteFile]] = {}
    for file in sorted(files, key=lambda one: one.name):
        if file.name.lower().endswith(".gguf") and not _NO_MODEL.search(file.name):
            groups.setdefault(_PART.sub("", file.name), []).append(file)
    return [
        Offer(tuple(group), quantization_in(group[0].name))
        for group in groups.values()
        if _is_whole(group)
    ]


def choose(repository: str, available: Sequence[Offer], wanted: str | None, memory: int) -> Choice:
    """The offer that `wanted` names (a quantization or a file), or a sensible one for a machine
    with `memory` bytes. Raises UserError with what there is."""
    if not available:
        raise UserError(f"{repository} holds no GGUF files; look for a repository that does.")
    if wanted is not None:
        return Choice(_named(repository, available, wanted), "as asked for")
    if len(available) == 1:
        return Choice(available[0], "the only one there is")
    # A little memory is left for the context and for everything else.
    fitting = [offer for offer in available if offer.size <= memory * 0.8]
    if not fitting:
        raise UserError(
            f"No model of {repository} fits into {memory / 1e9:.1f} GB of memory; name one to get "
            f"it anyway: {_listed(available)}."
        )
    for label in PREFERRED:
        for offer in fitting:
            if offer.quantization is not None and offer.quantization.upper() == label:
                return Choice(offer, _reason(label))
    largest = max(fitting, key=lambda offer: offer.size)
    return Choice(largest, "the most precise one that fits into memory")


def _reason(label: str) -> str:
    if label in BATCHES_WELL and label.startswith("Q4"):
        return "small, close to the original, and fast at checking drafts"
    if label in BATCHES_WELL:
        return "close to the original, and fast at checking drafts"
    return "the best balance of size and precision among those there are"


def _named(repository: str, available: Sequence[Offer], wanted: str) -> Offer:
    word = wanted.casefold()
    exact = [offer for offer in available if word in _names(offer)]
    if not exact:
        raise UserError(f"{repository} has no {wanted}; it has {_listed(available)}.")
    if len(exact) > 1:
        files = ", ".join(offer.files[0].name for offer in exact)
        raise UserError(f"{wanted} is not the only one in {repository}; name a file: {files}.")
    return exact[0]


def _names(offer: Offer) -> set[str]:
    first = PurePosixPath(offer.files[0].name)
    return {
        (offer.quantization or "").casefold(),
        first.name.casefold(),
        str(first).casefold(),
        _PART.sub("", first.name).casefold(),
        first.stem.casefold(),
    } - {""}


def _listed(available: Sequence[Offer]) -> str:
    return ", ".join(sorted({offer.label for offer in available}))


def quantization_in(name: str) -> str | None:
    """The quantization that the name of a file tells; None where it tells none."""
    labels: list[str] = _LABEL.findall(PurePosixPath(name).name) or _LABEL.findall(name)
    return labels[-1].upper() if labels else None


def _is_whole(group: Sequence[RemoteFile]) -> bool:
    part = _PART.search(group[0].name)
    return part is None or len(group) == int(part[2])
