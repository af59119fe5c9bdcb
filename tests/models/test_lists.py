"""Python's lists and other tables as X and y: one row that lies costs nobody else theirs, without a word."""

from __future__ import annotations

import functools
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import pytest

from leakcap.errors import InvalidInput, InvalidParameter
from leakcap.models import (
    CustomLoss,
    LinearRegression,
    LogisticLoss,
    LogisticRegression,
    PrivateGradientDescent,
    RidgeRegression,
)
from leakcap.models.examples import Scaling
from leakcap.models.values import label_codes, number_of
from models.world import ledger_of, policy_of
from seeded import SeededSource

HOSTILE: list[Any] = ["unknown", None, 1j, [], [1, 2], {}, 10**400, Decimal("sNaN"), b"\xff", "\ud800", ...]
POLICY = policy_of(max_rows=3000)


def rows_counted(X: Any, y: Any, **options: Any) -> float:
    """The noisy number of rows of which every value is known, from linear regression's own release."""
    with ledger_of(POLICY) as ledger:
        model = LinearRegression(
            policy=POLICY, ledger=ledger, bounds=(0.0, 1.0), target_bounds=(0.0, 1.0), epsilon=4.0,
            source=SeededSource(3), **options,
        )  # fmt: skip
        return float(model.fit(X, y).moments_[0, 0])


ROWS = 400


def rows() -> tuple[Any, Any]:
    return [[place % 2 == 0] for place in range(ROWS)], [place % 3 == 0 for place in range(ROWS)]


@functools.cache
def plainly_counted() -> float:
    return rows_counted(*rows(), n_features=1)


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
@pytest.mark.parametrize("row", [lambda v: [v], lambda v: v, lambda v: [v, v]], ids=["cell", "row", "long"])
def test_one_row_of_a_list_costs_no_other_row(value: Any, row: Any) -> None:
    X, y = rows()
    plain = plainly_counted()
    assert plain == pytest.approx(ROWS, abs=40)
    X[7] = row(value)
    assert rows_counted(X, y, n_features=1) == plain - 1
    X[7], y[7] = [True], value
    assert rows_counted(X, y, n_features=1) == plain - 1


@pytest.mark.parametrize("value", ["?", None, [], 1j, 2, "0"], ids=repr)
def test_one_label_of_a_list_costs_no_other_label(value: Any) -> None:
    x = np.linspace(-1.0, 1.0, 2000)
    X, y = [[float(one)] for one in x], [int(one > 0) for one in x]
    y[4] = value
    with ledger_of(POLICY) as ledger:
        options: dict[str, Any] = {"policy": POLICY, "ledger": ledger, "n_features": 1}
        logistic = LogisticRegression(**options, epsilon=8.0, source=SeededSource(1)).fit(X, y)
        assert logistic.coef_[0, 0] > 4.0
        loss = LogisticLoss()
        slow = PrivateGradientDescent(**options, loss=loss, learning_rate=4.0, source=SeededSource(1)).fit(
            X, y
        )
        assert slow.coef_[0] > 4.0


def test_what_no_row_can_change_is_refused_before_it_costs() -> None:
    """A list does not say how many features it has, and no row may: its type alone decides."""
    with ledger_of(POLICY) as ledger:
        for kind in (RidgeRegression, LogisticRegression, PrivateGradientDescent):
            model = kind(policy=POLICY, ledger=ledger)
            for X in (
                [[1.0], [2.0]],
                [[1.0], "a"],
                ([1.0], [1.0, 2.0]),
                [],
                np.array([[1], [1, 2]], dtype=object),
            ):
                with pytest.raises(InvalidInput, match=r"is a list, .* Say `n_features=…` to the model"):
                    model.fit(X, [0, 1])
            with pytest.raises(InvalidInput, match=r"must be an array, a table of .* Got `dict`"):
                model.fit({"a": [1.0]}, [0])
            with pytest.raises(InvalidInput, match=r"must have the 3 features that were declared\. Got 2"):
                kind(policy=POLICY, ledger=ledger, n_features=3).fit(np.zeros((2, 2)), [0, 1])
            with pytest.raises(InvalidParameter, match=r"`n_features` of .* must be a whole number"):
                kind(policy=POLICY, ledger=ledger, n_features=True).fit(np.zeros((2, 1)), [0, 1])
        assert ledger.entries() == []


def test_bounds_for_each_feature_say_how_many_there_are() -> None:
    with ledger_of(POLICY) as ledger:
        each = LinearRegression(
            policy=POLICY, ledger=ledger, bounds=[(0.0, 1.0), (0.0, 9.0)], target_bounds=(0.0, 1.0)
        )
        assert each.fit([[0.5, 1], [0.25], ["a", 2]], [0, 1, 1]).n_features_in_ == 2


def test_no_row_at_all_is_answered_like_any_other_table() -> None:
    with ledger_of(POLICY) as ledger:
        for kind in (RidgeRegression, LogisticRegression):
            for X in ([], np.zeros((0, 1)), pandas.DataFrame({"a": []})):
                assert kind(policy=POLICY, ledger=ledger, n_features=1).fit(X, []).coef_.size == 1


def test_numbers_of_every_kind_and_nothing_else() -> None:
    for value, number in (
        (True, 1.0), (3, 3.0), (Fraction(1, 4), 0.25), (Decimal("0.1"), 0.1), (np.float32(0.5), 0.5),
        (np.int8(-1), -1.0), (np.bool_(True), 1.0), (2**53 + 1, 2.0**53), (np.longdouble("1e4000"), np.inf),
    ):  # fmt: skip
        assert number_of(value) == number
    for value in (
        "1",
        b"1",
        None,
        1j,
        [1],
        np.timedelta64(1),
        np.datetime64(1, "s"),
        10**400,
        np.array(1.0),
        object(),
    ):
        assert np.isnan(number_of(value))


def test_labels_by_value_and_never_by_another_label() -> None:
    big = 2**53
    for labels in (
        np.array([big, big + 1]),
        np.array([big, big + 1], dtype=object),
        np.array([big, big + 1], "u8"),
    ):
        assert label_codes(labels, (big, big + 1)).tolist() == [0.0, 1.0]
        assert np.isnan(label_codes(labels, (float(big), 0)).tolist()[1])
    assert label_codes(np.array(["a", b"a", 1, "1"], dtype=object), ("a", 1)).tolist()[:3] == [0.0, 0.0, 1.0]
    for classes in ((0, 0), (0, False), (0,), (0, None), ("a", b"a"), (0, float("nan"))):
        with pytest.raises(InvalidParameter, match="different public labels"):
            label_codes(np.zeros(0), classes)


def test_masked_values_are_missing() -> None:
    masked = np.ma.masked_array([[0.5], [0.5], [1.0]], mask=[[0], [1], [0]])
    model = RidgeRegression()
    assert np.isnan(model._read(masked, [0, 0, 0], None).read()[0]).ravel().tolist() == [False, True, False]


@pytest.mark.parametrize("value", [1e308, -1e308, np.inf, -np.inf, 5e-324, -0.0, 1.7976931348623157e308])
@pytest.mark.parametrize("width", [1e-90, 5e-89, 1.0, 1e45, 1e90])
def test_scaling_says_nothing_of_a_row_beyond_the_doubles(value: float, width: float) -> None:
    for low in (0.0, -width, 1e-3 * width):
        for centred in (True, False):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                scaling = Scaling.of([(low, low + width)], (low, low + width), centred=centred)
                inside = scaling.inward(np.array([[value], [low], [low + width]]))
                target = scaling.inward_target(np.array([value]))
            middle, half = (
                low + width / 2 if centred else 0.0,
                width / 2 if centred else max(abs(low), low + width),
            )
            exact = (
                max(-1, min(1, (Fraction(value) - Fraction(middle)) / Fraction(half)))
                if np.isfinite(value)
                else (1 if value > 0 else -1)
            )
            assert inside[0, 0] == pytest.approx(float(exact), abs=1e-15)
            assert inside[0, 0] == target[0]


def test_a_gradient_of_ones_own_that_fails_at_a_row_counts_as_nothing() -> None:
    """It is tried on a row of zeros before anything is paid: what fails there is the user's to mend."""

    def gradient(theta: Any, x: Any, y: float) -> Any:
        if x[0] > 0.9:
            raise ValueError(f"x is {x[0]}")
        return (x @ theta - y) * x / (1.0 - x[1])

    loss = CustomLoss(gradient, lambda theta, X: X @ theta)
    found = loss.gradients(np.zeros(2), np.array([[0.95, 0.0], [0.5, 0.0], [0.5, 1.0]]), np.ones(3))
    assert np.isfinite(found).all(axis=1).tolist() == [False, True, False]
    with ledger_of(POLICY) as ledger:
        options: dict[str, Any] = {"policy": POLICY, "ledger": ledger, "steps": 2}
        PrivateGradientDescent(loss=loss, **options).fit(np.array([[0.95, 0.5], [0.5, 1.0]]), [1.0, 1.0])
        wrong = CustomLoss(lambda theta, x, y: x[:1], lambda theta, X: X @ theta)
        with pytest.raises(
            InvalidParameter, match="`gradient` of `CustomLoss` must give one number for each"
        ):
            PrivateGradientDescent(loss=wrong, **options).fit(np.zeros((2, 2)), [1.0, 1.0])
        assert len(ledger.entries()) == 1
