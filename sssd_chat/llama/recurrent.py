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

_KEY_BY_VALUE = frozenset({"minimax-01"})
"""Linear attention: a matrix of keys by values for each head."""

_MOST_STATES = 8
"""Each kept state adds a few copies to every layer: with 8 a plain step took 2 to 10 % longer in
models of 12 small layers. Longer chains are seldom right to their end, and llama.cpp has no room
for many more operations: with 12 it ends the process in a Nemotron-H of 42 layers."""
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


def recurrent_bytes(header: GgufHeader, sequences: int) -> int:
    """Bytes of the recurrent states of so many texts, the earlier ones that are kept included; 0
    for models that have none. An estimate: every layer is taken for a recurrent one."""
    kept = states_kept(header, sequences)
    return sequences * (1 + kept) * _state_bytes(header)


def states_kept(header: GgufHeader, sequences: int) -> int:
    """How many earlier states of each of `sequences` texts are to be kept, so that as many tokens
    can be taken back; 0 where llama.cpp keeps none."""
    if shape_of(header) is not DraftShape.CHAINS:
        return 0
    room = max(_LEAST_ROOM, header.model_bytes // _SHARE_OF_WEIGHTS)
    each = sequences * max(1, _state_bytes(header))
    return min(_MOST_STATES, max(1, room // each))


def _state_bytes(header: GgufHeader) -> int:
    """Bytes of one state of one text, as llama.cpp counts them (n_embd_r and n_embd_s)."""
    if shape_of(header) is DraftShape.TREES:
        return 0
    own = HeaderKeys(header)
    width, heads = own.number("embedding_length"), max(own.each_layer("attention.head_count"))
    conv = max(0, own.number("ssm.conv_kernel") - 1)
    inner, state = own.number("ssm.inner_size"), own.number("ssm.state_size")
    delta, matrix = own.number("kda.head_dim"), own.number("wkv.head_size")
    numbers = state * inner + conv * (inner + 2 * own.number("ssm.group_count") * state)
    numbers += heads * delta * (delta + 3 * conv)
    numbers += width * (matrix + 2) if matrix else 0
    numbers += max(0, own.number("shortconv.l_cache") - 1) * width
    if header.architecture in _KEY_BY_VALUE:
        numbers += heads * own.number("attention.key_length") ** 2
    return own.number("block_count") * numbers * _NUMBER_BYTES
