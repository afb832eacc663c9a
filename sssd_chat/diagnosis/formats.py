"""Which quantization formats check many guesses at little cost, as measured."""

from __future__ import annotations

from dataclasses import dataclass

MEASURED_ON = "2 x86-64 cores with AVX-512 VNNI, context 512"
"""The machine of the measurements."""


@dataclass(frozen=True, slots=True)
class FormatEvidence:
    """What a batch costs in one format."""

    quantization: str
    four: float
    """Time of four tokens over that of one."""
    sixteen: float
    model: str
    """What it was measured with."""

    @property
    def batches_well(self) -> bool:
        """Whether four tokens cost less than two."""
        return self.four < 2.0


EVIDENCE = (
    FormatEvidence("Q4_K_M", 1.56, 3.61, "Qwen2.5-Coder-1.5B"),
    FormatEvidence("Q4_0", 1.55, 4.2, "Qwen2.5-Coder"),
    FormatEvidence("Q8_0", 1.69, 4.7, "Qwen2.5-Coder"),
    FormatEvidence("Q4_1", 2.33, 7.4, "SmolLM2-135M"),
)
"""On a CPU: formats with kernels that work on several rows at once gain, the others hardly do."""


def evidence_for(quantization: str | None) -> FormatEvidence | None:
    """What is known about a format; None when it was not measured."""
    return next((one for one in EVIDENCE if one.quantization == quantization), None)
