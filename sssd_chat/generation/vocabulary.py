"""The vocabulary of a model file without its weights, for rooms that only tokenize."""

from sssd_chat.llama.model import open_vocabulary

__all__ = ["open_vocabulary"]
"""See `sssd_chat.llama.model.open_vocabulary`."""
