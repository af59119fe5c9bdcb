"""Stand-ins with the names and the protocol of Opacus: a loader, and an optimizer that logs its noise."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["DPOptimizer", "Parameter", "UniformWithReplacementSampler", "loader", "policy_of"]


class Parameter:
    """As much of a tensor as is hashed."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values
        self.shape, self.dtype = values.shape, values.dtype

    def detach(self) -> Parameter:
        return self

    cpu = contiguous = detach

    def view(self, _: int) -> Parameter:
        return Parameter(self.values.reshape(-1))

    def numpy(self) -> np.ndarray[Any, Any]:
        return self.values


class DPOptimizer:
    """A step draws noise, which is a byte in a file: it stays there whatever kills the process."""

    __module__ = "opacus.optimizers.optimizer"

    def __init__(self, noise: float, drawn: Path, secure_mode: bool = True) -> None:
        self.noise_multiplier, self.max_grad_norm, self.secure_mode = noise, 1.0, secure_mode
        self.drawn = drawn
        self.weights = np.full(64, 0.7071067811865476)
        self.param_groups = [{"params": [Parameter(self.weights)]}]

    def add_noise(self) -> None:
        with self.drawn.open("ab", buffering=0) as file:
            file.write(b".")

    def step(self) -> None:
        self.add_noise()
        self.weights += 1e-3


class UniformWithReplacementSampler:
    __module__ = "opacus.utils.uniform_sampler"

    def __init__(self, sample_rate: float) -> None:
        self.sample_rate = sample_rate


def loader(rate: float = 1 / 18) -> Any:
    return SimpleNamespace(batch_sampler=UniformWithReplacementSampler(rate))


def policy_of(**changed: Any) -> dict[str, Any]:
    caps = {"epsilon": 4.0, "delta": 1e-4, "delta_of_answers": 5e-5}
    told = {"dataset": "d", "neighbours": "add-remove-one", "columns": {"x": {"bounds": [0.0, 1.0]}}}
    return told | {"caps": caps} | changed
