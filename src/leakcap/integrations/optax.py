"""Trainings of JAX with Optax: `attach` gives the batches and the transformation of one that is paid for.

Who is in a step is drawn here, by exact coins from the operating system, and the transformation counts the
step where its noise is drawn, also inside `jax.jit`. Its sum is divided by the number of rows that are
expected, which is public, and not by that of the batch, which is not. JAX's noise is of floats, from a seed
of 63 bits of the operating system.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import LeakcapError, require
from leakcap.integrations.training import IN_FLOATS, PlannedTraining, Training, begin_training
from leakcap.ledger import Ledger
from leakcap.ledger.steps import sampling_rate
from leakcap.sampling import ByteSource, system_bytes, uniform_below

__all__ = ["OptaxTraining", "attach"]

_DRAWN = f"{IN_FLOATS}; JAX's generator with a seed of 63 bits of the operating system"
_MOST_ROWS = 10**9
_NOT_SEEN = hashlib.sha256().hexdigest()
"""The hash of nothing, where no parameters were noted yet."""


@dataclass
class OptaxTraining:
    """What a training of Optax works with: `batches()` and `transformation`, which takes per-example
    gradients of a batch and its `weights`."""

    training: Training
    transformation: Any
    rows: int
    rate: Fraction
    pad: int
    source: ByteSource = field(default=system_bytes, repr=False)
    seen: list[str] = field(default_factory=list, repr=False)

    def note(self, params: Any) -> None:
        """Take the hash of these parameters for what is recorded with the next steps."""
        self.seen[:] = [_hash_of(params)]

    def finish(self, params: Any) -> None:
        """Record that the training is over, and a hash of the parameters that leave."""
        self.note(params)
        self.training.finish()

    def batches(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Rows of each step that is left, each row with the probability that was paid for, filled up to whole
        multiples of `pad` with rows of weight 0."""
        while self.training.left:
            chosen = np.flatnonzero(self._coins())
            size = max(1, -(-chosen.size // self.pad)) * self.pad
            rows, weights = np.zeros(size, np.int64), np.zeros(size, np.float32)
            rows[: chosen.size], weights[: chosen.size] = chosen, 1.0
            before = self.training.taken
            yield rows, weights
            if self.training.taken != before + 1:
                raise LeakcapError(
                    f"A batch of training `{self.training.plan.name}` was used for "
                    f"{self.training.taken - before} steps. Each is drawn for one: update once for each."
                )

    def _coins(self) -> NDArray[np.bool_]:
        return np.asarray(uniform_below(self.rate.denominator, self.rows, self.source) < self.rate.numerator)


def attach(
    *,
    ledger: Ledger,
    l2_norm_clip: float,
    noise_multiplier: float,
    rows: int,
    sample_rate: float | Fraction | str,
    max_steps: int,
    delta: float | None,
    name: str,
    pad: int = 32,
    every: int = 100,
    analyst: str = "",
    slot: str = "",
    text: str = "",
) -> OptaxTraining:
    """Pay for `max_steps` steps of Optax' `differentially_private_aggregate`, and count each where its noise
    is drawn. A training of the same `name` and plan that was paid for goes on, as with Opacus.

    `transformation.update(gradients, state, params, weights=weights)` takes per-example gradients. Raises
    `LeakcapError` where Optax is not installed, and what `PlannedTraining` and the ledger refuse.
    """
    try:
        import jax
        import jax.experimental
        import optax
    except ImportError:
        needs = "a training of Optax needs JAX and Optax. Run: pip install leakcap[optax]"
        raise LeakcapError(needs) from None
    owner = "attach"
    require(0 < l2_norm_clip < 1e12, "l2_norm_clip", owner, "be a number above 0", l2_norm_clip)
    whole = isinstance(rows, int) and 1 <= rows <= _MOST_ROWS
    require(whole, "rows", owner, "be a whole number from 1", rows)
    require(isinstance(pad, int) and 1 <= pad <= rows, "pad", owner, "be from 1 to `rows`", pad)
    rate = sampling_rate(sample_rate)
    plan = PlannedTraining(name, Fraction(float(noise_multiplier)), rate, max_steps, delta, _DRAWN, text)
    seen: list[str] = []
    fingerprint = lambda: seen[-1] if seen else _NOT_SEEN  # noqa: E731
    training = begin_training(plan, ledger, fingerprint, every=every, analyst=analyst, slot=slot)
    inner = optax.contrib.differentially_private_aggregate(
        l2_norm_clip, float(noise_multiplier), key=jax.random.key(secrets.randbits(63))
    )
    expected = float(rate) * rows

    def counted() -> NDArray[np.float32]:
        training.step()
        return np.ones((), np.float32)

    def update(updates: Any, state: Any, params: Any = None, *, weights: Any, **_: Any) -> tuple[Any, Any]:
        one = jax.experimental.io_callback(counted, jax.ShapeDtypeStruct((), np.float32), ordered=True)
        masked = jax.tree.map(lambda g: g * (one * weights.reshape((-1, *[1] * (g.ndim - 1)))), updates)
        noisy, after = inner.update(masked, state, params)
        share = weights.shape[0] / expected
        return jax.tree.map(lambda g: g * share, noisy), after

    transformation = optax.GradientTransformationExtraArgs(inner.init, update)
    return OptaxTraining(training, transformation, rows, rate, pad, seen=seen)


def _hash_of(params: Any) -> str:
    import jax

    found = hashlib.sha256()
    for leaf in jax.tree.leaves(params):
        values = np.ascontiguousarray(leaf)
        found.update(f"{values.shape} {values.dtype}".encode() + values.tobytes())
    return found.hexdigest()
