"""Other software's trainings in the ledger: paid for first, counted step by step, never beyond the plan.

    leakcap.integrations.opacus    attach: a training of PyTorch with Opacus
    leakcap.integrations.optax     attach: a training of JAX with Optax
    Training                       what was reserved, and how much of it was taken

Neither PyTorch nor JAX is imported before one of them is asked for.
"""

from __future__ import annotations

from leakcap.integrations.training import PlannedTraining, Training, begin_training

__all__ = ["PlannedTraining", "Training", "begin_training"]
