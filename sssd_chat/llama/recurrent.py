"""Models with a recurrent state: which they are, how large the state is, how far it can go back.

The lists are those of llama.cpp (llm_arch_is_recurrent, llm_arch_is_hybrid and
llm_arch_supports_rs_rollback), which tells them only of a model that is loaded.
"""

from __future__ import annotations

from sssd_chat.llama.gguf import GgufHeader
from sssd_chat.llama.header_keys import HeaderKeys
from sssd_chat.llama.shape import DraftShape

_KEEPS_STATES = frozenset(
    [
        *("bailingmoe3", "deepseek4", "glm5-next", "kimi-k3", "lfm2", "lfm2moe", "nemotron_h"),
        *("nemotron_h_moe", "qwen35", "qwen35moe", "qwen4exp"),
    ]
)
_CANNOT_GO_BACK = frozenset(
    [
        *("arwkv7", "falcon-h1", "granitehybrid", "jamba", "kimi-linear", "mamba", "mamba2"),
        *("minimax-01", "plamo2", "qwen3next", "rwkv6", "rwkv6qwen2", "rwkv7"),
    ]
)

_MOST_STATES = 8
"""Each kept state adds a few operations to every layer, and llama.cpp has room for so many of them
in its smallest models; longer chains are seldom right to their end."""
_LEAST_ROOM = 256 * 2**20
"""Bytes that kept states may always take."""
_SHARE_OF_WEIGHTS = 8
"""They may take this part of the model's own size."""
_NUMBER_BYTES = 4


def shape_of(header: GgufHeader) -> DraftShape:
    """The shape of the drafts that a model's memory allows, as its header tells."""
    if header.architecture in _KEEPS_STATES:
        return DraftShape.CHAINS
    return DraftShape.NONE if header.architecture in _CANNOT_GO_BACK else DraftShape.TREES


def state_bytes(header: GgufHeader) -> int:
    """Bytes of the recurrent state of all layers, of the kinds that llama.cpp knows; 0 for models
    that have none. An estimate: every layer is taken for a recurrent one."""
    if shape_of(header) is DraftShape.TREES:
        return 0
    own = HeaderKeys(header)
    width = own.number("embedding_length")
    inner, state = own.number("ssm.inner_size"), own.number("ssm.state_size")
    convolution = inner + 2 * own.number("ssm.group_count") * state
    a_layer = state * inner + max(0, own.number("ssm.conv_kernel") - 1) * convolution
    a_layer += width * (own.number("wkv.head_size") + 2) if own.number("wkv.head_size") else 0
    a_layer += max(0, own.number("shortconv.l_cache") - 1) * width
    return own.number("block_count") * a_layer * _NUMBER_BYTES


def states_kept(header: GgufHeader, sequences: int) -> int:
    """How many earlier states of each of `sequences` texts are to be kept, so that as many tokens
    can be taken back; 0 where llama.cpp keeps none."""
    if shape_of(header) is not DraftShape.CHAINS:
        return 0
    room = max(_LEAST_ROOM, header.model_bytes // _SHARE_OF_WEIGHTS)
    each = sequences * max(1, state_bytes(header))
    return min(_MOST_STATES, max(1, room // each))
