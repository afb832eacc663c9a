"""What the rooms above say of how a token is chosen, without a room below."""

from sssd_chat.llama.sampler import SamplerSettings

__all__ = ["SamplerSettings"]
"""See `sssd_chat.llama.sampler` for each."""
