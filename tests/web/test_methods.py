"""The page "What your method tells": numbers by a second route, states as addresses, sound pictures."""

from __future__ import annotations

import html
import math
import re
from fractions import Fraction
from itertools import pairwise

import altair
import pytest
from starlette.testclient import TestClient

from leakcap.choosing import OfficeMethod, told_by
from leakcap.choosing.methods import variances
from leakcap.disclosure.least_leaking import least_leaking_table
from leakcap.disclosure.most_entropy import most_entropic_table
from leakcap.web import Settings, create_app
from leakcap.web.choosing.method_plots import method_figures
from leakcap.web.choosing.office_method import KINDS, asked_method, method_address
from leakcap.web.figures import DARK, LIGHT, themed

HOME = "http://127.0.0.1:8421"
ASKED = [
    OfficeMethod(),
    OfficeMethod("nearest", base=5),
    OfficeMethod("nearest", base=2, matched="largest"),
    OfficeMethod("small", below=4),
    OfficeMethod("top", top=2),
    OfficeMethod("key", largest=2, variance=Fraction(1), table="least"),
]


@pytest.fixture(scope="module")
def web() -> TestClient:
    return TestClient(create_app(Settings()), base_url=HOME)


def rows_of(page: str) -> list[list[str]]:
    """The first table's cells, as they are read."""
    table = re.search(r"<tbody>(.*?)</tbody>", page, re.DOTALL)
    assert table is not None
    lines = re.findall(r"<tr>(.*?)</tr>", table[1], re.DOTALL)
    return [
        [html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line)] for line in lines
    ]


def test_base_three_by_binomial_sums(web: TestClient) -> None:
    """After k cells beside a multiple somebody errs where all of k show the multiple: half of (2/3)^k."""
    rows = rows_of(web.get("/method").text)
    beside, between, laplace, gaussian = rows
    for times, shown in zip((1, 10, 50), beside[4:7], strict=True):
        exact = 1 - Fraction(2, 3) ** times / 2
        assert float(shown.removesuffix(" %")) == pytest.approx(math.ceil(exact * 10_000) / 100)
    assert beside[0] == "0, 3, 6, …"
    assert beside[2] == "∞"
    assert beside[7] == str(next(k for k in range(1, 99) if 1 - Fraction(2, 3) ** k / 2 >= Fraction(19, 20)))
    right = Fraction(2, 3)
    most = sum(math.comb(10, k) * right**k * (1 - right) ** (10 - k) for k in range(6, 11))
    tied = math.comb(10, 5) * right**5 * (1 - right) ** 5 / 2
    assert float(between[5].removesuffix(" %")) == pytest.approx(float(most + tied) * 100, abs=0.011)
    # ε of discrete Laplace noise of variance v is arcosh(1 + 1/v).
    assert float(laplace[2]) == pytest.approx(math.acosh(1 + 3 / 4), abs=0.01)
    assert gaussian[0] == "discrete Gaussian noise"


def test_which_error_is_meant_is_said_and_can_be_chosen(web: TestClient) -> None:
    page = web.get("/method").text
    assert "4/3 on average over large counts, and 2 for those where it is largest. The noise has 4/3" in page
    other = web.get("/method?matched=largest").text
    assert "The noise has 2, in every cell" in other
    assert float(rows_of(other)[2][2]) == pytest.approx(math.acosh(1 + 1 / 2), abs=0.01)


def test_delta_and_proof_by_fractions() -> None:
    tells = told_by(OfficeMethod(base=5))
    assert tells.worst.proof == pytest.approx(0.2)
    for epsilon, shown in zip(tells.epsilons, tells.worst.deltas(tells.epsilons), strict=True):
        exact = max(0.2, 1 - math.exp(epsilon) * 0.8)
        assert exact <= shown <= exact + 1e-9
    (laplace, _) = tells.noise
    p = math.exp(-math.acosh(1 + 1 / 4))  # of variance 4
    for epsilon, shown in zip(tells.epsilons, laplace.deltas(tells.epsilons), strict=True):
        # Of two laws that are one apart only the nearer half is likelier by e^{1/b}; e^ε takes its share.
        exact = max(0.0, (1 - math.exp(epsilon) * p) / (1 + p))
        assert exact - 1e-12 <= shown <= exact + 1e-9


@pytest.mark.parametrize("asked", ASKED, ids=lambda one: one.method.words)
def test_a_state_is_an_address_and_its_pictures_are_vega_lite(web: TestClient, asked: OfficeMethod) -> None:
    address = method_address(asked)
    assert asked_method(dict(part.split("=") for part in address.split("?")[1].split("&"))) == asked
    whole, part = web.get(address), web.get(address, headers={"hx-request": "true"})
    assert whole.status_code == part.status_code == 200
    assert part.headers["HX-Replace-Url"] == address
    assert part.text.strip() in whole.text
    assert 'role="alert"' not in whole.text
    for figure in method_figures(told_by(asked)):
        if asked in (ASKED[0], ASKED[3]):  # validation takes long
            altair.Chart.from_dict(themed(figure.spec, LIGHT), validate=True)
        assert "@" not in str(themed(figure.spec, DARK))


def test_odd_queries_are_the_nearest_that_make_sense(web: TestClient) -> None:
    for value in ("nan", "1e400", "٣", "<i>"):
        for kind in KINDS:
            query = dict.fromkeys(("base", "below", "top", "largest", "variance", "table", "matched"), value)
            page = web.get("/method", params=query | {"kind": kind}, headers={"hx-request": "true"})
            assert page.status_code == 200
    assert "<code>variance</code> must be from 0.1 to 1.9. Got <code>3</code>: shown is 1.9." in (
        web.get("/method?kind=key&largest=2&variance=3").text
    )


def test_every_table_that_the_sliders_offer_is_one() -> None:
    for largest in (2, 5, 8):
        for variance in variances(largest):
            for table in (
                most_entropic_table(largest, variance),
                least_leaking_table(largest, variance).table,
            ):
                row = table.law(1)
                assert sum(k * k * chance for k, chance in row.items()) == variance


def test_success_never_falls_with_more_cells() -> None:
    for asked in ASKED:
        tells = told_by(asked)
        for kind in (*tells.cells, *tells.noise):
            assert all(a[1] <= b[1] + 1e-4 for a, b in pairwise(kind.course))
