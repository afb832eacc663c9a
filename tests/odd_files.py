"""GGUF files that are no chat models."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np


def odd_file(path: Path, architecture: str, kind: str | None = None) -> Path:
    """A whole GGUF file of the architecture, of a type such as "adapter", with next to nothing."""
    writer = gguf.GGUFWriter(path, architecture)
    if kind is not None:
        writer.add_type(kind)
    writer.add_context_length(128)
    writer.add_token_list(["a", "b"])
    writer.add_tensor("token_embd.weight", np.zeros((4, 4), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
