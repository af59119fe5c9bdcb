"""Private gradient descent: the guarantee is kept as it is, and turned into (ε, δ) only on request."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.apart import apart
from leakcap.errors import InvalidParameter, LedgerError, require
from leakcap.ledger import Entry, Spend
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.steps import sampling_rate
from leakcap.models.budget import FitAccount, asked_of, check_epsilon
from leakcap.models.checkpoint import Checkpoint, note_step, resumed
from leakcap.models.curve import RenyiCurve
from leakcap.models.examples import Examples
from leakcap.models.integers import ball_integers
from leakcap.models.losses import Loss, SquaredLoss
from leakcap.models.private_model import PrivateModel
from leakcap.models.values import Floats
from leakcap.release import Policy, PrivateTable
from leakcap.sampling import ByteSource, discrete_gaussian, uniform_below

__all__ = ["PrivateGradientDescent", "coins"]

_STEPS = 2**16
_MOST_ROWS = 2**10
_OWNER = "PrivateGradientDescent"


def coins(rate: Fraction, size: int, source: ByteSource) -> NDArray[np.bool_]:
    """Independent coins, true with probability `rate`, exactly.

    >>> coins(Fraction(1), 2, lambda n: bytes(n)).tolist()
    [True, True]
    """
    return np.asarray(uniform_below(rate.denominator, size, source) < rate.numerator, dtype=np.bool_)


@dataclass(frozen=True)
class _Data:
    """Rows that count, the person of each, and how many people there are."""

    X: Floats
    y: Floats
    person: NDArray[np.int64]
    people: int


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateGradientDescent(PrivateModel):
    """θ ← θ − η·(Σ over a Poisson sample of clipped gradients, plus noise)/(q·n), `steps` times.

    Each person is in a step with probability q = `sample_rate`, by an exact coin. A gradient is shortened to
    length `clip`, rounded towards zero to 2¹⁶ steps of it, and the integers' exact sum gets discrete Gaussian
    noise of deviation `noise_multiplier`·clip. `expected_rows` stands for n where the policy has no public
    number. Of a person's m rows in a table each gradient is shortened to `clip`/m. After `fit`: `coef_` (θ
    without the intercept), `intercept_`, `curve_` (the guarantee: Rényi curve and capacities), `spend_` (the
    ledger counts ε at `delta`), `entry_`.

    With ``delta=None`` the ledger is charged the curve alone, as of Gaussian noise, and nothing of the δ for
    answers: for caps on all answers together, or on ρ. A `slot` of a plan whose `descent` tells no less pays
    for the fit beforehand.

    `progress(step, steps)` is called after each step. With `checkpoint`, a path, the state goes to the ledger
    and the file every `checkpoint_every` steps and on Ctrl-C, and `resume` goes on without paying again.
    Source: Bassily, Smith & Thakurta 2014; Abadi et al. 2016; Mironov, Talwar & Zhang 2019.

    >>> from leakcap.ledger import Caps, Ledger
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

    loss: Loss | None = None
    delta: float | None = 1e-6
    noise_multiplier: float = 2.0
    clip: float = 1.0
    sample_rate: float | Fraction = 0.1
    steps: int = 100
    learning_rate: float = 0.5
    expected_rows: int | None = None
    fit_intercept: bool = True
    progress: Callable[[int, int], object] | None = None
    checkpoint: str | Path | None = None
    checkpoint_every: int = 50

    coef_: Floats = field(init=False)
    intercept_: Floats = field(init=False)
    theta_: Floats = field(init=False)
    curve_: RenyiCurve = field(init=False)

    def _kind(self) -> str:
        return self._loss.kind

    @property
    def _loss(self) -> Loss:
        return SquaredLoss() if self.loss is None else self.loss

    @property
    def _rate(self) -> Fraction:
        return sampling_rate(self.sample_rate)

    def guarantee(self, *, replace: bool) -> RenyiCurve:
        """The Rényi curve that a fit will cost, under replace-one or add/remove-one; touches no data."""
        return RenyiCurve(float(self.noise_multiplier), self._rate, self.steps, replace)

    def resume(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Go on after a crash from the last step in the ledger, paid for already; needs `checkpoint`.

        Raises `LedgerError` where the run has finished, where another one went on from that step, or where
        ledger or settings are others.
        """
        self._check()
        examples, saved = self._read(X, y, None), self._saved()
        with self._account(examples) as account:
            return self._run(account, examples, saved=saved, fresh=False)

    def resume_table(
        self, table: PrivateTable, *, features: Sequence[str], target: str, where: str | None = None
    ) -> Self:
        """Go on after a crash with a fit to a table; raises what `resume` does."""
        self._check()
        saved = self._saved()
        account, examples = self._behind(table, features, target, where)
        return self._run(account, examples, saved=saved, fresh=False)

    def _saved(self) -> Path:
        path = self.checkpoint
        require(path is not None, "checkpoint", _OWNER, "be a path", path)
        return Path(str(path))

    def _centred(self) -> bool:
        return self.fit_intercept

    def _behind(
        self, table: PrivateTable, features: Sequence[str], target: str, where: str | None
    ) -> tuple[FitAccount, Examples]:
        self._require_apart(table.files)
        return super()._behind(table, features, target, where)

    def _require_apart(self, kept: Sequence[str | Path]) -> None:
        """Refuse a checkpoint in place of what the fit rests on; a new one first stands beside the old."""
        if self.checkpoint is None:
            return
        path = Path(str(self.checkpoint))
        if not all(apart(one, kept) for one in (path, Path(f"{path}.new"))):
            raise InvalidParameter(
                f"`checkpoint` of `{_OWNER}` may not replace `{path}`, or what stands beside it: the fit "
                "rests on it. Name another file. Nothing was spent or written."
            )

    def _targets(self, y: NDArray[Any]) -> Floats:
        return self._loss.encode(y)

    def _run(
        self, account: FitAccount, examples: Examples, *, fresh: bool, saved: Path | None = None
    ) -> Self:
        self._require_apart(
            [account.ledger.url, *([self.policy] if isinstance(self.policy, str | Path) else [])]
        )
        most = examples.most
        require(most <= _MOST_ROWS, "max_rows", _OWNER, f"be at most {_MOST_ROWS} a person", most)
        curve, text = self.guarantee(replace=account.replace), self._text(examples)
        batch, spend = self._batch(account.policy), self._spend(curve, account.policy)
        size = self._loss.size(examples.features + int(self.fit_intercept))
        self._loss.check(size)
        if saved is None:
            noise = "sampled discrete Gaussian"
            details: dict[str, str | float | int] = {"mechanism": noise, "steps": self.steps}
            asked = asked_of(None, self.delta or 0.0)
            charge = account.charge("gradient descent", text, spend, details, asked=asked)
            data = examples.data if self._loss.remembered else ""

            def draw(entry: Entry) -> Floats:
                origin = Checkpoint(entry.id, 0, np.zeros(size))
                if self.checkpoint is not None:
                    origin.save(Path(str(self.checkpoint)))
                return self._descend(account, origin, self._data(examples), batch, most)

            found = account.answered(charge, draw, data=data, fresh=fresh)
            theta, self.entry_, self.repeated_ = found.values[0], found.entry, found.repeated
        else:
            account.check_units()
            entry, last = resumed(account, saved, text)
            theta = self._descend(account, last, self._data(examples), batch, most)
            account.release(entry.id, theta)
            self.entry_, self.repeated_ = entry.id, False
        self._keep(theta.ravel(), examples)
        self.curve_, self.spend_ = curve, spend
        return self

    def _descend(self, account: FitAccount, at: Checkpoint, data: _Data, batch: float, most: int) -> Floats:
        theta, done = at.theta, at.step
        try:
            for step in range(at.step + 1, self.steps + 1):
                theta = self._step(theta, data, batch, most)
                done = step
                if self.progress is not None:
                    self.progress(step, self.steps)
                if step % self.checkpoint_every == 0 or step == self.steps:
                    at = self._noted(account, at, Checkpoint(at.entry, step, theta))
        except KeyboardInterrupt:
            if done > at.step:
                with suppress(LedgerError):
                    self._noted(account, at, Checkpoint(at.entry, done, theta))
            raise
        return theta

    def _noted(self, account: FitAccount, before: Checkpoint, after: Checkpoint) -> Checkpoint:
        """In the ledger first; without a checkpoint nobody can go on, and nothing is noted."""
        if self.checkpoint is None:
            return before
        note_step(account, before, after)
        after.save(Path(str(self.checkpoint)))
        return after

    def _step(self, theta: Floats, data: _Data, batch: float, most: int) -> Floats:
        # Under replace-one a step in which everybody takes part moves by twice the length: the curve says so.
        steps = _STEPS // most
        unit = self.learning_rate * (self.clip / most) / (steps * batch)
        variance = (Fraction(float(self.noise_multiplier)) * steps * most) ** 2
        chosen = np.flatnonzero(coins(self._rate, data.people, self.source)[data.person])
        total = self._total(theta, data.X[chosen], data.y[chosen], most)
        noise = discrete_gaussian(variance, theta.size, self.source)
        return theta - unit * np.array([float(s + int(z)) for s, z in zip(total, noise, strict=True)])

    def _total(self, theta: Floats, X: Floats, y: Floats, most: int = 1) -> list[int]:
        """The exact sum of integer gradients, of which a person's `most` together are within the clip."""
        with np.errstate(all="ignore"):
            found = self._loss.gradients(theta, X, y)
        kept = np.where(np.isfinite(found).all(axis=1, keepdims=True), found, 0.0)
        whole = ball_integers(np.ascontiguousarray(kept), norm=float(self.clip) / most, steps=_STEPS // most)
        return [int(total) for total in np.asarray(whole.astype(np.int64).sum(axis=0)).tolist()]

    def _data(self, examples: Examples) -> _Data:
        rows, targets, person = examples.read()
        labels = targets if targets.dtype == np.float64 else self._loss.encode(targets)
        complete = np.isfinite(rows).all(axis=1) & np.isfinite(labels)
        X = rows[complete]
        if self.fit_intercept:
            X = np.hstack([X, np.ones((X.shape[0], 1))])
        own = np.arange(X.shape[0]) if person is None else person[complete]
        return _Data(np.ascontiguousarray(X), labels[complete], own, int(own.max(initial=-1)) + 1)

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
            epsilon=math.inf if self.delta is None else curve.epsilon(self.delta),
            delta=self.delta or 0.0,
            # Any content's answers are within this divergence of the absent person's.
            nats_person=curve.presence(1.0),
            nats_table=float("inf"),
            nats_level=level if level <= 1e6 else float("inf"),
            curve=tuple(map(curve.between_neighbours, ORDERS)),
            event=curve.event,
        )

    def _keep(self, theta: Floats, examples: Examples) -> None:
        features = examples.features
        classes = theta.size // (features + int(self.fit_intercept))
        weights = theta.reshape(classes, -1)
        inner = weights[:, features] if self.fit_intercept else np.zeros(classes)
        coef, intercept = examples.scaling.named(weights[:, :features], inner)
        self.coef_ = coef if classes > 1 else coef[0]
        self.intercept_ = intercept
        self.theta_ = theta if not examples.scaled else self._outward(coef, intercept)
        if hasattr(self._loss, "classes"):
            self.classes_ = np.array(self._loss.classes)
        self.n_features_in_ = features

    def _outward(self, coef: Floats, intercept: Floats) -> Floats:
        """θ for the columns' own units, as the loss predicts with it."""
        last = [intercept[:, None]] if self.fit_intercept else []
        return np.hstack([coef, *last]).ravel()

    def _check(self) -> None:
        owner = _OWNER
        if self.delta is not None:
            check_epsilon(1.0, self.delta, owner)
            rule = "be positive, or None: the ledger counts ε at this δ"
            require(self.delta > 0, "delta", owner, rule, self.delta)
        for name, value in (("clip", self.clip), ("learning_rate", self.learning_rate)):
            require(1e-12 <= value <= 1e12, name, owner, "lie between 1e-12 and 1e12", value)
        every = self.checkpoint_every
        require(every >= 1, "checkpoint_every", owner, "be at least 1", every)
        require(isinstance(self._loss, Loss), "loss", owner, "be a `Loss`", self.loss)

    def _text(self, examples: Examples) -> str:
        return (
            f"{self.steps} steps of gradient descent on {self._loss.text} of {examples.text}, "
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
