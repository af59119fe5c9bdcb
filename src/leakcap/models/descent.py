"""Private gradient descent: the guarantee is kept as it is, and turned into (ε, δ) only on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.errors import InvalidParameter, require
from leakcap.ledger import Ledger, Spend
from leakcap.models.budget import Account, check_epsilon
from leakcap.models.checkpoint import Checkpoint, note_step, resumed
from leakcap.models.curve import RenyiCurve
from leakcap.models.estimator import Estimator, Floats, table_of, targets_of
from leakcap.models.integers import ball_integers
from leakcap.models.losses import Loss, SquaredLoss
from leakcap.release import Policy
from leakcap.sampling import ByteSource, discrete_gaussian, system_bytes, uniform_below

__all__ = ["PrivateGradientDescent", "coins"]

_STEPS = 2**16
_MOST_DENOMINATOR = 10**6


def coins(rate: Fraction, size: int, source: ByteSource) -> NDArray[np.bool_]:
    """Independent coins, true with probability `rate`, exactly.

    >>> coins(Fraction(1), 2, lambda n: bytes(n)).tolist()
    [True, True]
    """
    return np.asarray(uniform_below(rate.denominator, size, source) < rate.numerator, dtype=np.bool_)


class PrivateGradientDescent(Estimator):
    """θ ← θ − η·(Σ over a Poisson sample of clipped gradients, plus noise)/(q·n), `steps` times.

    Each person is in a step with probability q = `sample_rate`, by an exact coin. A gradient is shortened to
    length `clip`, rounded towards zero to 2¹⁶ steps of it, and the integers' exact sum gets discrete Gaussian
    noise of deviation `noise_multiplier`·clip. `expected_rows` stands for n where the policy has no public
    number. After `fit`: `coef_` (θ without the intercept), `intercept_`, `curve_` (the guarantee: Rényi
    curve and level-α capacities), `spend_` (the ledger counts ε at `delta`), `entry_`.

    `progress(step, steps)` is called after each step. With `checkpoint`, a path, the state is saved every
    `checkpoint_every` steps, and `resume` goes on after a crash without paying again.
    Source: Bassily, Smith & Thakurta 2014; Abadi et al. 2016; Mironov, Talwar & Zhang 2019.

    >>> from leakcap.ledger import Caps
    >>> from leakcap.release import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "max_rows": 4000,
    ...     "caps": {"epsilon": 9.0, "delta": 1e-5}, "columns": {"x": {"bounds": [0.0, 1.0]}}})
    >>> x = np.linspace(-1.0, 1.0, 4_000)[:, None]
    >>> with Ledger.open("sqlite://", dataset="d", policy=policy.fingerprint(),
    ...         caps=policy.caps.ledger_caps()) as ledger:
    ...     model = PrivateGradientDescent(policy=policy, ledger=ledger, delta=1e-6, steps=50)
    ...     model = model.fit(x, 0.5 * x[:, 0])
    >>> bool(abs(model.coef_[0] - 0.5) < 0.2), model.spend_.epsilon < 5.0
    (True, True)
    """

    coef_: Floats
    intercept_: Floats
    theta_: Floats
    curve_: RenyiCurve
    spend_: Spend
    entry_: int

    def __init__(
        self,
        *,
        policy: Policy | str | Path | Mapping[str, Any] | None = None,
        ledger: Ledger | str | Path | None = None,
        loss: Loss | None = None,
        delta: float = 1e-6,
        noise_multiplier: float = 2.0,
        clip: float = 1.0,
        sample_rate: float | Fraction = 0.1,
        steps: int = 100,
        learning_rate: float = 0.5,
        expected_rows: int | None = None,
        fit_intercept: bool = True,
        progress: Callable[[int, int], object] | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 50,
        analyst: str = "",
        source: ByteSource = system_bytes,
    ) -> None:
        self.policy = policy
        self.ledger = ledger
        self.loss = loss
        self.delta = delta
        self.noise_multiplier = noise_multiplier
        self.clip = clip
        self.sample_rate = sample_rate
        self.steps = steps
        self.learning_rate = learning_rate
        self.expected_rows = expected_rows
        self.fit_intercept = fit_intercept
        self.progress = progress
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.analyst = analyst
        self.source = source

    def _kind(self) -> str:
        return self._loss.kind

    @property
    def _loss(self) -> Loss:
        return SquaredLoss() if self.loss is None else self.loss

    @property
    def _rate(self) -> Fraction:
        return Fraction(self.sample_rate).limit_denominator(_MOST_DENOMINATOR)

    def guarantee(self, *, replace: bool) -> RenyiCurve:
        """What a fit will cost, before any data is touched."""
        return RenyiCurve(float(self.noise_multiplier), self._rate, self.steps, replace)

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Fit to arrays whose rows are the privacy units. Rows with NaN or ±∞ are left out, unseen."""
        return self._run(X, y, None)

    def resume(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Go on from the checkpoint, paid for already; `LedgerError` where steps would be seen twice."""
        path = self.checkpoint
        require(path is not None, "checkpoint", "PrivateGradientDescent", "be a path", path)
        return self._run(X, y, Checkpoint.load(Path(str(path))))

    def _run(self, X: ArrayLike, y: ArrayLike | None, start: Checkpoint | None) -> Self:
        self._check()
        owner = "PrivateGradientDescent"
        rows = table_of(X, owner)
        labels = self._loss.encode(targets_of(y, rows.shape[0], owner))
        with Account.opened(self.policy, self.ledger, self.analyst, owner) as account:
            account.check_rows(rows.shape[0])
            curve, text = self.guarantee(replace=account.replace), self._text(rows.shape[1])
            batch = self._batch(account.policy)
            spend = self._spend(curve, account.policy)
            data = self._data(rows, labels)
            if start is None:
                details = {"mechanism": "sampled discrete Gaussian", "steps": self.steps}
                with account.paid("gradient descent", text, spend, details) as entry:
                    theta = np.zeros(self._loss.size(data[0].shape[1]))
                    theta = self._descend(account, Checkpoint(entry.id, 0, theta), data, batch)
            else:
                entry = resumed(account, start, text)
                theta = self._descend(account, start, data, batch)
                account.ledger.mark_released([entry.id])
        self._keep(theta, rows.shape[1])
        self.curve_, self.spend_, self.entry_ = curve, spend, entry.id
        return self

    def _descend(
        self, account: Account, start: Checkpoint, data: tuple[Floats, Floats], batch: float
    ) -> Floats:
        X, y = data
        theta, rate = start.theta, self._rate
        variance = Fraction(float(self.noise_multiplier) * _STEPS) ** 2
        # Under replace-one a step in which everybody takes part moves by twice the length: the curve says so.
        unit = self.learning_rate * self.clip / (_STEPS * batch)
        for step in range(start.step + 1, self.steps + 1):
            chosen = np.flatnonzero(coins(rate, X.shape[0], self.source))
            total = self._total(theta, X[chosen], y[chosen])
            noise = discrete_gaussian(variance, theta.size, self.source)
            theta = theta - unit * np.array([float(s + int(z)) for s, z in zip(total, noise, strict=True)])
            if self.progress is not None:
                self.progress(step, self.steps)
            if self.checkpoint is not None and step % self.checkpoint_every == 0 and step < self.steps:
                note_step(account, start.entry, step)
                Checkpoint(start.entry, step, theta).save(Path(str(self.checkpoint)))
        return theta

    def _total(self, theta: Floats, X: Floats, y: Floats) -> list[int]:
        """The exact sum of integer gradients."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._loss.gradients(theta, X, y)
        kept = np.where(np.isfinite(found).all(axis=1, keepdims=True), found, 0.0)
        whole = ball_integers(np.ascontiguousarray(kept), norm=float(self.clip), steps=_STEPS)
        return [int(total) for total in np.asarray(whole.astype(np.int64).sum(axis=0)).tolist()]

    def _data(self, rows: Floats, labels: Floats) -> tuple[Floats, Floats]:
        complete = np.isfinite(rows).all(axis=1) & np.isfinite(labels)
        X = rows[complete]
        if self.fit_intercept:
            X = np.hstack([X, np.ones((X.shape[0], 1))])
        return np.ascontiguousarray(X), labels[complete]

    def _batch(self, policy: Policy) -> float:
        rows = self.expected_rows if self.expected_rows is not None else policy.units
        if rows is None:
            raise InvalidParameter(
                "`expected_rows` of `PrivateGradientDescent` must be given where the policy has no public "
                "number of rows: it sets the length of a step."
            )
        return max(1.0, float(self._rate) * rows)

    def _spend(self, curve: RenyiCurve, policy: Policy) -> Spend:
        alpha = policy.caps.alpha
        level = float("inf") if alpha is None else curve.contents(alpha)
        return Spend(
            epsilon=curve.epsilon(self.delta),
            delta=self.delta,
            # Any content's answers are within this divergence of the absent person's.
            nats_person=curve.presence(2.0),
            nats_table=float("inf"),
            nats_level=level if level <= 1e6 else float("inf"),
        )

    def _keep(self, theta: Floats, features: int) -> None:
        classes = theta.size // (features + int(self.fit_intercept))
        weights = theta.reshape(classes, -1)
        self.theta_ = theta
        self.coef_ = weights[:, :features] if classes > 1 else weights[0, :features]
        self.intercept_ = weights[:, features] if self.fit_intercept else np.zeros(classes)
        if hasattr(self._loss, "classes"):
            self.classes_ = np.array(self._loss.classes)
        self.n_features_in_ = features

    def _check(self) -> None:
        owner = "PrivateGradientDescent"
        check_epsilon(1.0, self.delta, owner)
        require(self.delta > 0, "delta", owner, "be positive: the ledger counts ε at this δ", self.delta)
        for name, value in (("clip", self.clip), ("learning_rate", self.learning_rate)):
            require(1e-12 <= value <= 1e12, name, owner, "lie between 1e-12 and 1e12", value)
        every = self.checkpoint_every
        require(every >= 1, "checkpoint_every", owner, "be at least 1", every)
        require(isinstance(self._loss, Loss), "loss", owner, "be a `Loss`", self.loss)

    def _text(self, features: int) -> str:
        return (
            f"{self.steps} steps of gradient descent on {type(self._loss).__name__} of {features} features, "
            f"intercept {self.fit_intercept!r}, rate {self._rate}, noise multiplier "
            f"{self.noise_multiplier!r}, clip {self.clip!r}, learning rate {self.learning_rate!r}, "
            f"expected rows {self.expected_rows!r}"
        )

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Values, or the most probable classes."""
        rows = self._inputs(X)
        if self.fit_intercept:
            rows = np.hstack([rows, np.ones((rows.shape[0], 1))])
        return self._loss.predict(self.theta_, rows)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """R² or accuracy on data that is public or your own: it is not private."""
        return self._loss.score(np.asarray(y), self.predict(X))
