"""Trainings of PyTorch with Opacus: `attach` puts one into a ledger before its first step.

What Opacus reports and what it does may differ: q is read off the sampler that draws, not off the batch size
(a loader of 18 batches samples at 1/18 = .0556, where batch over rows says .0569). PyTorch draws floats of
24 bits, so that each person is in a step with the next multiple of 2⁻²⁴ above q; what is charged is one above
it.
"""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from numbers import Real
from typing import Any

from leakcap.errors import InvalidParameter, require
from leakcap.integrations.training import IN_FLOATS, PlannedTraining, Training, begin_training
from leakcap.ledger import Ledger, PlannedDescent

__all__ = ["attach", "descent_of", "model_hash"]

_OPTIMIZERS = ("DPOptimizer", "DPOptimizerFastGradientClipping")
_SAMPLER = "UniformWithReplacementSampler"
_BITS = 24
_PREDICTABLE = "its generator is PyTorch's default, which can be predicted"


def attach(
    optimizer: Any,
    loader: Any,
    *,
    ledger: Ledger,
    max_steps: int,
    delta: float | None,
    name: str,
    insecure_generator: bool = False,
    every: int = 100,
    analyst: str = "",
    slot: str = "",
    text: str = "",
) -> Training:
    """Pay for `max_steps` steps of an Opacus optimizer on a Poisson loader, and refuse every one beyond.

    The whole plan is charged now, composed exactly; the optimizer then asks for each step before its noise is
    drawn. A training of the same `name` and plan that was paid for goes on: attach again after a crash, with
    the model and optimizer that were saved. Up to `every` steps are lost then. A `slot` of a plan
    (`descent_of`) pays for it where there is one. Call `finish()` on what is returned when the model leaves.

    Raises `InvalidParameter`, with nothing spent, where the loader does not sample by Poisson, where the
    optimizer is of a kind whose noise is another, or where its noise is not of a secure generator
    (`secure_mode`), unless `insecure_generator` says that this is known: the entry then says so.
    """
    require(not hasattr(optimizer, "_leakcap"), "optimizer", "attach", "be attached once", "one that was")
    _require_optimizer(optimizer)
    rate = _rate_drawn(loader)
    noise = _noise_of(optimizer)
    how = IN_FLOATS
    if not getattr(optimizer, "secure_mode", False):
        if not insecure_generator:
            raise InvalidParameter(
                f"The noise of `optimizer` is not secure: {_PREDICTABLE}. Nothing was spent. Make the "
                "private engine with `secure_mode=True`, or say `insecure_generator=True`, which the ledger "
                "records."
            )
        how = f"{IN_FLOATS}; {_PREDICTABLE}"
    plan = PlannedTraining(name, noise, rate, max_steps, delta, how, text)
    training = begin_training(
        plan, ledger, lambda: model_hash(optimizer), every=every, analyst=analyst, slot=slot
    )
    _hook(optimizer, loader, training)
    return training


def _hook(optimizer: Any, loader: Any, training: Training) -> None:
    """Before noise is drawn a step is counted, at the noise and the rate that were paid for."""
    draw = optimizer.add_noise
    plan, sampler = training.plan, loader.batch_sampler

    def add_noise(*args: Any, **named: Any) -> Any:
        if optimizer.noise_multiplier != asked or sampler.sample_rate != sampled:
            now = _noise_of(optimizer), _rate_drawn(loader)
            if now[0] < plan.noise_multiplier or now[1] > plan.rate:
                raise InvalidParameter(
                    f"Training `{plan.name}` was paid for with a noise multiplier of "
                    f"{float(plan.noise_multiplier):g} or more and a rate of {float(plan.rate):.6g} or less. "
                    "No noise was drawn. Set them back."
                )
        training.step()
        return draw(*args, **named)

    asked, sampled = optimizer.noise_multiplier, sampler.sample_rate
    optimizer.add_noise, optimizer._leakcap = add_noise, training


def _require_optimizer(optimizer: Any) -> None:
    kind = type(optimizer)
    if kind.__name__ in _OPTIMIZERS and kind.__module__.split(".")[0] == "opacus":
        return
    raise InvalidParameter(
        f"`optimizer` of `attach` is a `{kind.__module__.split('.')[0]}.{kind.__name__}`. Known is what "
        f"{' and '.join(_OPTIMIZERS)} of Opacus draw; a distributed, per-layer or adaptive one draws other "
        "noise. Nothing was spent."
    )


def _noise_of(optimizer: Any) -> Fraction:
    value = optimizer.noise_multiplier
    number = _is_number(value) and value > 0
    require(number, "noise_multiplier", "attach", "be above 0, since without noise nothing is hidden", value)
    clip = optimizer.max_grad_norm
    good = _is_number(clip) and clip > 0
    require(good, "max_grad_norm", "attach", "be a number above 0", clip)
    return Fraction(float(value))


def _rate_drawn(loader: Any) -> Fraction:
    """At least the probability with which the loader's sampler puts a row into a batch."""
    sampler: Any = getattr(loader, "batch_sampler", None)
    kind = type(sampler)
    if kind.__name__ != _SAMPLER or kind.__module__.split(".")[0] != "opacus":
        inner = type(getattr(sampler, "sampler", sampler)).__name__
        raise InvalidParameter(
            f"`loader` of `attach` samples by `{inner}`, and not by Poisson: shuffled batches hide less than "
            "what would be charged. Nothing was spent. Take the loader of `make_private` with "
            "`poisson_sampling=True`, or `DPDataLoader.from_data_loader`."
        )
    rate = sampler.sample_rate
    number = _is_number(rate) and 0 < rate <= 1
    require(number, "sample_rate", "attach", "be a probability above 0", rate)
    return min(Fraction(math.ceil(Fraction(float(rate)) * 2**_BITS) + 1, 2**_BITS), Fraction(1))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(float(value))


def descent_of(optimizer: Any, loader: Any, max_steps: int) -> PlannedDescent:
    """The descent that a slot of a plan needs for such a training, its rate rounded up to a millionth.

    Several trainings that are planned together, `Slot("trainings", 5, descent=…)` in a `SlotPlan`, cost what
    all their steps cost together: see `docs/how-to/plan.md`.
    """
    _require_optimizer(optimizer)
    rate = Fraction(math.ceil(_rate_drawn(loader) * 10**6), 10**6)
    return PlannedDescent(float(_noise_of(optimizer)), min(rate, Fraction(1)), max_steps)


def model_hash(optimizer: Any) -> str:
    """SHA-256 of the parameters that an optimizer moves, their shapes and bytes, in their order; of noise and
    what the training began with alone."""
    found = hashlib.sha256()
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            values = parameter.detach().cpu().contiguous()
            found.update(f"{tuple(values.shape)} {values.dtype}".encode())
            found.update(memoryview(values.view(-1).numpy()).cast("B"))
    return found.hexdigest()
