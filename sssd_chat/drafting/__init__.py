"""Where candidate tokens come from, how likely each is, and the tree that they make."""

from __future__ import annotations

from sssd_chat.drafting.drafter import Drafter, ObservedStep
from sssd_chat.drafting.experience import Experience
from sssd_chat.drafting.plain import PlainDrafter
from sssd_chat.drafting.reference import ReferenceDrafter
from sssd_chat.drafting.sssd import SssdDrafter
from sssd_chat.drafting.tree import ROOT, DraftTree

__all__ = [
    "ROOT",
    "DraftTree",
    "Drafter",
    "Experience",
    "ObservedStep",
    "PlainDrafter",
    "ReferenceDrafter",
    "SssdDrafter",
]
