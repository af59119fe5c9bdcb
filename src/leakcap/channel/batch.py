"""Many channels of one shape at once, for closed forms that broadcast over them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from leakcap.arrays import np
from leakcap.channel.checks import labels_of
from leakcap.channel.finite import Channel
from leakcap.channel.reading import stochastic
from leakcap.errors import InvalidChannel
from leakcap.numeric.logspace import Floats

__all__ = ["ChannelBatch"]


@dataclass(frozen=True, eq=False)
class ChannelBatch:
    """Channels of one shape with the same labels: an array of shape (batch, x, y), or several of them.

    `batch_capacity(batch, divergence, adversary)` answers for all at once. Errors are `InvalidChannel`.

    >>> batch = ChannelBatch([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> len(batch), batch[1].shape
    (2, (2, 2))
    """

    matrices: Floats
    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]

    def __init__(
        self,
        matrices: Any,
        *,
        inputs: Iterable[Hashable] | None = None,
        outputs: Iterable[Hashable] | None = None,
    ) -> None:
        """Check all matrices and freeze them; a sequence of `Channel`s with equal labels is stacked."""
        given = list(matrices) if not isinstance(matrices, np.ndarray) else matrices
        if len(given) and all(isinstance(c, Channel) for c in given):
            if any(c.inputs != given[0].inputs or c.outputs != given[0].outputs for c in given):
                raise InvalidChannel("channels of a batch must have the same labels. Relabel them alike.")
            inputs = given[0].inputs if inputs is None else inputs
            outputs = given[0].outputs if outputs is None else outputs
            given = [c.matrix for c in given]
        try:
            array = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidChannel("a batch must be an array of numbers of shape (batch, x, y).") from None
        if array.ndim != 3 or 0 in array.shape:
            raise InvalidChannel(
                f"a batch must have a non-empty shape (batch, x, y). Got shape {array.shape}."
            )
        rows = stochastic(array.reshape(-1, array.shape[2])).reshape(array.shape)
        object.__setattr__(self, "matrices", rows)
        object.__setattr__(self, "inputs", labels_of("inputs", inputs, array.shape[1]))
        object.__setattr__(self, "outputs", labels_of("outputs", outputs, array.shape[2]))

    def __len__(self) -> int:
        """The number of channels."""
        return len(self.matrices)

    def __getitem__(self, index: int) -> Channel:
        """One of the channels."""
        return Channel(self.matrices[index], inputs=self.inputs, outputs=self.outputs)

    def __iter__(self) -> Iterator[Channel]:
        """The channels in order."""
        return (self[index] for index in range(len(self)))
