"""The model families that differ in how their memory works."""

import enum


class Architecture(enum.StrEnum):
    """The model families that differ in how their memory works; the value is the GGUF name."""

    LLAMA = "llama"
    GRANITE = "granite"  # multi-query attention: one key head
    DEEPSEEK2 = "deepseek2"  # multi-head latent attention
    GEMMA3 = "gemma3"  # sliding window in three layers of four
    QWEN3MOE = "qwen3moe"  # mixture of experts
    MAMBA = "mamba"  # recurrent: a selective state space
    RWKV7 = "rwkv7"  # recurrent: linear attention
    GRANITE_HYBRID = "granitehybrid"  # hybrid: Mamba 2 and attention
    QWEN3_NEXT = "qwen3next"  # hybrid: gated delta net and attention, mixture of experts
    LFM2 = "lfm2"  # hybrid: short convolutions and attention
    NEMOTRON_H = "nemotron_h"  # hybrid: Mamba 2, attention and feed-forward layers
    QWEN35 = "qwen35"  # hybrid: gated delta net and attention

    @property
    def is_recurrent(self) -> bool:
        """Whether all of its memory is a recurrent state."""
        return self in (Architecture.MAMBA, Architecture.RWKV7)

    @property
    def is_hybrid(self) -> bool:
        """Whether it has a recurrent state beside attention."""
        return self in _HYBRID

    @property
    def can_roll_back(self) -> bool:
        """Whether its memory can drop any of its last tokens, which a tree of drafts needs."""
        return not self.is_recurrent and not self.is_hybrid

    @property
    def keeps_states(self) -> bool:
        """Whether llama.cpp keeps earlier versions of its recurrent state."""
        return self in (Architecture.LFM2, Architecture.NEMOTRON_H, Architecture.QWEN35)

    @property
    def has_experts(self) -> bool:
        """Whether it is a mixture of experts, where rounding may tip the choice of one."""
        return self in (Architecture.QWEN3MOE, Architecture.QWEN3_NEXT)


_HYBRID = frozenset(
    {
        Architecture.GRANITE_HYBRID,
        Architecture.QWEN3_NEXT,
        Architecture.LFM2,
        Architecture.NEMOTRON_H,
        Architecture.QWEN35,
    }
)


TREE_ARCHITECTURES = tuple(kind for kind in Architecture if kind.can_roll_back)
"""The architectures that can verify a tree."""

CHAIN_ARCHITECTURES = tuple(kind for kind in Architecture if kind.keeps_states)
"""The architectures that can verify a chain."""

DRAFTED_ARCHITECTURES = (*TREE_ARCHITECTURES, *CHAIN_ARCHITECTURES)
"""The architectures that can be drafted for at all."""

RECURRENT_ARCHITECTURES = tuple(kind for kind in Architecture if not kind.can_roll_back)
"""The architectures whose texts cannot be shortened to any length."""

PLAIN_ARCHITECTURES = tuple(
    kind for kind in Architecture if not kind.can_roll_back and not kind.keeps_states
)
"""The architectures that can only decode token after token."""
