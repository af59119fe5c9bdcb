"""The pages' numbers by a second route, and that every state is an address."""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import altair
import pytest
from starlette.testclient import TestClient

import leakcap.choosing.needs
import leakcap.release.asking.accuracy
from leakcap.choosing import Choice, Meaning, Need, choice, meaning_of
from leakcap.choosing.meaning import count_error
from leakcap.release import Policy, Query, load_policy
from leakcap.release.planning.plan import Plan, plan_query
from leakcap.web import Settings, create_app
from leakcap.web.channels.comparing import EXAMPLES, PLAIN, Pasted, compare
from leakcap.web.choosing import choose_epsilon, epsilon_plots, needs_plots
from leakcap.web.choosing.epsilon import MECHANISMS, asked
from leakcap.web.figures import DARK, LIGHT, Figure, themed
from leakcap.web.serving.guard import Keys
from running_explorer import hospital, promised

HOME = "http://127.0.0.1:8421"
EXAMPLES_FOLDER = Path(__file__).parents[2] / "examples"


@pytest.fixture
def web() -> TestClient:
    return TestClient(create_app(Settings()), base_url=HOME)


def specs(page: str) -> dict[str, Any]:
    found = re.findall(r'data-key="([a-z]+)" data-spec="([^"]*)"', page)
    return {key: json.loads(html.unescape(text)) for key, text in found}


def meaning(**query: object) -> Meaning:
    return meaning_of(asked({key: str(value) for key, value in query.items()}))


def test_epsilon_a_tenth() -> None:
    m = meaning(eps=0.1, prior=50, family=5)
    assert m.after() == pytest.approx(1 / (1 + math.exp(-0.1)), abs=1e-14)
    assert m.after(5) == pytest.approx(1 / (1 + math.exp(-0.5)), abs=1e-14)
    assert m.error == 30
    # Randomised response of ε = 0.1 in nats: ln 2 − h(A/(1+A)).
    p = 1 / (1 + math.exp(-0.1))
    exact = math.log(2) + p * math.log(p) + (1 - p) * math.log(1 - p)
    assert m.exposure.nats.upper == pytest.approx(exact, rel=1e-9)
    assert m.exposure.nats.upper >= exact * (1 - 1e-12)


def test_the_published_values_of_any_mechanism() -> None:
    assert meaning(mechanism="any", eps=1, values=1000).tight == pytest.approx(0.12330156148, abs=1e-11)
    rows = meaning(mechanism="any", eps=1).orders
    assert rows[0][2] == pytest.approx(0.12330156148, abs=1e-11)
    values = [tight for _, _, tight, _ in rows]
    assert values == sorted(values)
    assert max(apart for *_, apart in rows) <= 1.0


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("eps", "queries"), [(0.01, 1), (0.5, 7), (1.0, 300), (10.0, 1000)])
@pytest.mark.parametrize(
    "prior", [1, 50, pytest.param(30, marks=pytest.mark.slow), pytest.param(99, marks=pytest.mark.slow)]
)
def test_no_claim_is_beyond_another(mechanism: str, eps: float, queries: int, prior: int) -> None:
    m = meaning(mechanism=mechanism, eps=eps, queries=queries, prior=prior, values=20)
    assert m.average_bits <= m.tight_bits * (1 + 1e-12)
    assert m.average_bits <= m.entropy_bits * (1 + 1e-12)
    assert m.worst_bits <= m.entropy_bits * (1 + 1e-12)
    # On average no guess is better than after the most telling answer.
    assert m.guess.lower <= max(m.after(), 1 - m.least()) + 1e-9
    assert m.least() <= m.asked.prior + 1e-12 <= m.after() + 2e-12
    assert m.after() <= m.after(2) + 1e-12
    for alarms, misses in m.tests:
        rest = 1.0 if m.pure else 1.0 - m.asked.delta
        bound = max(
            0.0, rest - math.exp(min(m.epsilon, 700)) * alarms, math.exp(-m.epsilon) * (rest - alarms)
        )
        assert bound - 1e-9 <= misses <= 1 - alarms + 1e-9


def test_tests_of_randomised_response_are_its_own_two_lines() -> None:
    m = meaning(mechanism="response", eps=1, values=2)
    a = math.e
    for alarms, misses in m.tests:
        assert misses == pytest.approx(max(1 - a * alarms, (1 - alarms) / a), abs=1e-9)


def test_ten_coins_by_counting() -> None:
    """The best guess after ten fair-odds randomised responses, by adding up binomials."""
    m = meaning(mechanism="response", eps=0.5, queries=9, values=2, prior=50)
    p = math.exp(0.5) / (1 + math.exp(0.5))
    majority = sum(math.comb(9, k) * p**k * (1 - p) ** (9 - k) for k in range(5, 10))
    assert m.guess.lower - 1e-9 <= majority <= m.guess.upper + 1e-9


@pytest.mark.parametrize(
    ("query", "holds", "beyond"),
    [
        ({"need": "accuracy", "error": "30"}, lambda e: error_of(e) <= 30, -1),
        ({"need": "accuracy", "error": "1"}, lambda e: error_of(e) <= 1, -1),
        ({"need": "guess", "right": "55", "queries": "200"}, lambda e: sigmoid(200 * e) <= 0.55, 1),
        (
            {"need": "family", "shared": "75", "queries": "10", "people": "5"},
            lambda e: sigmoid(50 * e) <= 0.75,
            1,
        ),
    ],
)
def test_the_choice_meets_the_need_and_its_neighbour_does_not(
    query: dict[str, str], holds: Any, beyond: int
) -> None:
    found = choice(choose_epsilon.needed(query))
    assert found.met
    assert holds(found.epsilon)
    step = 10.0 ** (math.floor(math.log10(found.epsilon)) - 3)
    assert not holds(found.epsilon + beyond * step)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def error_of(epsilon: float) -> int:
    """The least a with P(|Z| > a) ≤ 5 % for discrete Laplace noise, by adding up its masses."""
    s = math.exp(-epsilon)
    beyond, a = 1 - (1 - s) / (1 + s), 0
    while beyond > 0.05:
        a += 1
        beyond -= 2 * (1 - s) / (1 + s) * s**a
    return a


def test_count_error_by_adding_up_masses() -> None:
    for eps in (0.05, 0.0982, 0.1, 0.5, 1.0, 3.0, 10.0):
        assert count_error(eps) == error_of(eps)


LAWS = {
    # What a person's rows add up to moves one number, or a table of them, by so many.
    ("all", "replace-one"): (lambda r, g: r, 1.0),
    ("all", "add-remove-one"): (lambda r, g: r, 1.0),
    ("by", "replace-one"): (lambda r, g: 2 * r, 1.0),
    ("by", "add-remove-one"): (lambda r, g: r, 2.0),
    ("people", "replace-one"): (lambda r, g: 2 * min(r, g), 1.0),
    ("people", "add-remove-one"): (lambda r, g: min(r, g), 2.0),
}


@pytest.mark.parametrize(("counts", "neighbours"), LAWS)
@pytest.mark.parametrize(("rows", "groups"), [(1, 1), (10, 1), (10, 3), (3, 10), (1000, 20)])
def test_the_choice_knows_how_much_one_person_is(
    counts: str, neighbours: str, rows: int, groups: int, web: TestClient
) -> None:
    """Noise for so many rows is noise for one row at a smaller ε; contents of a person may be 2ε apart."""
    assert {(one, other) for one in choose_epsilon.COUNTS for other in choose_epsilon.NEIGHBOURS} == set(LAWS)
    moved, apart = LAWS[counts, neighbours][0](rows, groups), LAWS[counts, neighbours][1]
    need = Need("accuracy", 300.0, 3, 5, rows, groups, counts, neighbours)
    found = choice(need)
    if found.met:
        assert found.error == error_of(found.epsilon / moved) <= 300
        step = 10.0 ** (math.floor(math.log10(found.epsilon)) - 3)
        assert error_of((found.epsilon - step) / moved) > 300
    contents = 3 * found.epsilon * apart
    assert found.guess == pytest.approx(sigmoid(contents), rel=1e-9)
    assert found.shared == pytest.approx(sigmoid(5 * contents), rel=1e-9)
    page = web.get(choose_epsilon.need_address(need)).text
    assert f"ε = {found.epsilon:g}" in page
    assert f"± {found.error}" in page


@pytest.mark.parametrize("counts", ["all", "by", "people"])
def test_a_page_plans_each_epsilon_once(counts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search, the pictures and the sentences ask for the same ones by several names."""
    planned: list[float] = []

    def plan(query: Query, policy: Policy) -> Plan:
        planned.append(query.epsilon or 0.0)
        return plan_query(query, policy)

    for module in (leakcap.choosing.needs, leakcap.release.asking.accuracy):
        monkeypatch.setattr(module, "plan_query", plan)
    need = Need("guess", 61.7, 3, 5, 7, 2, counts)
    found = choice(need)
    assert found.met
    assert len(needs_plots.need_figures(found)) == 2
    assert 40 < len(planned) == len(set(planned)) < 90


def test_the_figure_of_ten_rows_a_person() -> None:
    """A count at ε = 0.1 is off by 300, not by 30."""
    ten = Need("accuracy", 30.0, 1, 5, rows=10)
    assert (Choice(replace(ten, rows=1), 0.1).error, Choice(ten, 0.1).error) == (30, 300)


def test_it_starts_with_the_policys_people(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'dataset = "d"\nneighbours = "add-remove-one"\ncaps.epsilon = 1.0\ncolumns.x.bounds = [0.0, 1.0]\n'
        'unit = { id = "person", max_rows = 10, max_groups = 4 }\n'
    )
    app = TestClient(create_app(Settings(policy=policy)), base_url=HOME)
    page = app.get("/choose", params={"error": "300"}).text
    assert "ε = 0.09985" not in page
    assert 'name="rows" value="10"' in page
    assert 'name="groups" value="4"' in page
    assert 'name="neighbours" value="add-remove-one"' in page


def test_a_tenth_of_a_bit_over_two_hundred_queries() -> None:
    found = choice(Need("bits", 0.1, 200, 5))
    assert found.bits <= 0.1
    # Near zero the capacity of one count is ε²/8 nats.
    assert found.epsilon == pytest.approx(math.sqrt(0.1 * math.log(2) * 8 / 200), rel=0.02)


def test_a_need_that_nothing_meets_is_said(web: TestClient) -> None:
    assert (
        not choice(Need("family", 50.1, 1000, 20)).met or choice(Need("family", 50.1, 1000, 20)).epsilon > 0
    )
    page = web.get("/choose", params={"need": "guess", "right": "50.1", "queries": "1000"}).text
    assert ("No ε from" in page) == (not choice(Need("guess", 50.1, 1000, 5)).met)


def test_the_survey() -> None:
    found = compare(Pasted(EXAMPLES["geometric"], EXAMPLES["response"], "uniform", "identity"))
    rows = {(row.section, row.name): row for row in found.rows}
    shannon = rows["at most, whatever is believed", "Shannon capacity"]
    assert shannon.a == "0.160621"
    assert shannon.b == "0.148342"
    assert shannon.more == "A"
    bayes = rows["at most, whatever is believed", "Bayes capacity"]
    assert (bayes.a, bayes.b, bayes.more) == ("1.66667", "1.8", "B")
    # B errs less, so that B leaks more.
    risk = rows["under the prior", "Bayes risk"]
    assert (risk.a, risk.b, risk.more) == ("0.444445", "0.4", "B")  # 4/9, upward
    assert [order.holds for order in found.orders] == [False] * 4
    neither = "neither is always the safer one: some attackers gain more from A, others from B."
    assert found.verdicts == [f"On average {neither}", f"In the worst case {neither}"]
    assert set(PLAIN) == {row.name for row in found.rows if row.plain}


def test_refinement_is_shown_where_it_holds() -> None:
    found = compare(Pasted("1,0\n0,1\n", "3/4,1/4\n1/4,3/4\n", "uniform", "identity"))
    assert found.orders[0].claim == "B never leaks more than A, on average"
    assert [order.holds for order in found.orders] == [True, False, True, False]
    never = "B never leaks more than A, whatever is believed and wanted."
    assert found.verdicts == [f"On average {never}", f"In the worst case {never}"]
    same = compare(Pasted(EXAMPLES["geometric"], EXAMPLES["geometric"], "uniform", "identity"))
    assert same.verdicts[0] == "On average both leak the same, whatever is believed and wanted."


def test_an_example_is_called_one(web: TestClient) -> None:
    said = "What stands here is an example"
    assert said in web.get("/mechanism").text
    assert said not in web.get("/mechanism", params={"a": "3/4,1/4\n1/4,3/4"}).text


@pytest.fixture(scope="module")
def pictures() -> list[tuple[str, Figure]]:
    """Every picture that the pages show, by what is asked."""
    found = []
    for mechanism in MECHANISMS:
        for m in (meaning(mechanism=mechanism), meaning(mechanism=mechanism, eps=10, queries=1000, prior=1)):
            found += [(f"{mechanism}-{f.key}", f) for f in epsilon_plots.figures(m)]
    found += [
        (f"{kind}-{f.key}", f)
        for kind in choose_epsilon.NEEDS
        for f in needs_plots.need_figures(choice(choose_epsilon.needed({"need": kind})))
    ]
    survey = Pasted(EXAMPLES["geometric"], EXAMPLES["response"], "uniform", "identity")
    return found + [(f"mechanism-{f.key}", f) for f in compare(survey).figures]


def test_every_picture_takes_the_colours_of_both_themes(pictures: list[tuple[str, Figure]]) -> None:
    assert len(pictures) == 2 * len(MECHANISMS) * 7 + 4 * 2 + 1
    for _, figure in pictures:
        assert figure.spoken
        for colours in (LIGHT, DARK):
            assert "@" not in json.dumps(themed(figure.spec, colours))


def test_every_kind_of_picture_is_vega_lite(pictures: list[tuple[str, Figure]]) -> None:
    special = {
        "any-information",
        "any-tests",
        "any-orders",
        "response-error",
        "continuous-error",
        "gaussian-information",
        "gaussian-cases",
        "gaussian-orders",
        "accuracy-sides",
        "accuracy-others",
    }
    kinds = {
        f"laplace-{key}" for key in ("people", "information", "odds", "cases", "tests", "orders", "error")
    }
    chosen = {name: figure for name, figure in pictures if name in kinds | special | {"mechanism-leakage"}}
    assert len(chosen) == 18
    for figure in chosen.values():
        altair.Chart.from_dict(themed(figure.spec, LIGHT), validate=True)
    broken = themed(chosen["laplace-cases"].spec, LIGHT) | {"mark": {"type": "no such mark"}}
    with pytest.raises(Exception, match="no such mark"):
        altair.Chart.from_dict(broken)


def test_a_state_is_an_address(web: TestClient) -> None:
    query = {
        "mechanism": "response",
        "eps": "0.25",
        "queries": "7",
        "family": "3",
        "prior": "10",
        "values": "16",
        "delta": "1e-9",
    }
    part = web.get("/epsilon", params=query, headers={"hx-request": "true"})
    assert not part.text.lstrip().startswith("<!doctype")
    address = part.headers["hx-replace-url"]
    whole = web.get(address)
    assert specs(whole.text) == specs(part.text)
    assert part.text.strip() in whole.text
    for name, value in query.items():
        if name != "mechanism":
            assert re.search(rf'name="{name}" value="{re.escape(value)}"', whole.text)
    restored = web.get(address, headers={"hx-request": "true", "hx-history-restore-request": "true"})
    assert restored.text == whole.text


def test_odd_queries_are_the_nearest_that_make_sense(web: TestClient) -> None:
    odd = ["nan", "inf", "-inf", "-1", "1e400", "", "0", "٣", "1_0", "0x10", "9" * 400]
    for value in odd:
        query = dict.fromkeys(
            ("eps", "delta", "queries", "family", "prior", "values", "right", "bits", "people"), value
        )
        assert web.get("/epsilon", params=query).status_code == 200
        assert web.get("/epsilon", params=query | {"mechanism": "gaussian"}).status_code == 200
        assert web.get("/choose", params=query | {"need": "bits"}).status_code == 200
    assert specs(web.get("/epsilon", params={"eps": "inf"}).text)["people"]


def test_what_is_not_shown_as_asked_is_said(web: TestClient) -> None:
    for path, query, said in (
        (
            "/epsilon",
            "eps=<i>",
            "<code>eps</code> must be a number. Got <code>&lt;i&gt;</code>: shown is 0.1.",
        ),
        ("/epsilon", "eps=20", "<code>eps</code> must be from 0.01 to 10. Got <code>20</code>: shown is 10."),
        ("/epsilon", "mechanism=magic", "<code>mechanism</code> must be one of"),
        ("/choose", "queries=1.5", "<code>queries</code> must be a whole number from 1 to 1000."),
    ):
        assert said in web.get(f"{path}?{query}").text
        assert said in web.get(f"{path}?{query}", headers={"hx-request": "true"}).text
    for path in ("/epsilon", "/epsilon?eps=&queries=7", "/choose?need=guess&right=55.5"):
        assert 'role="alert"' not in web.get(path).text


def test_short_bars_and_hidden_lines_are_seen() -> None:
    drawn = {figure.key: figure.spec for figure in epsilon_plots.figures(meaning(eps=0.1))}
    bars = [row["what"] for row in drawn["information"]["data"]["values"]]
    # ε²/8 nats of the best prior near zero, hence 0.00181 bits; ε itself is 0.1443 bits.
    assert bars == [
        "on average|≤ 0.00181 bits",
        "any noise of this ε|≤ 0.00181 bits",
        "in the worst case|≤ 0.145 bits",
    ]
    dashed = drawn["tests"]["encoding"]["strokeDash"]["scale"]
    assert dict(zip(dashed["domain"], dashed["range"], strict=True))["the least that ε allows"] != []
    assert drawn["tests"]["data"]["values"][-1]["which"] == "the least that ε allows"  # drawn over the others


@pytest.mark.parametrize("queries", [1, 30, 1000])
def test_no_deployment_sits_on_the_edge(queries: int) -> None:
    others = needs_plots.need_figures(choice(Need("accuracy", 30.0, queries, 5)))[1].spec
    low, high = others["encoding"]["x"]["scale"]["domain"]
    assert all(low * 1.4 < row["eps"] < high / 1.4 for row in others["data"]["values"])
    assert all(low <= power <= high for power in others["encoding"]["x"]["axis"]["values"])


def test_so_many_answers_that_they_hide_next_to_nothing_are_called_so(web: TestClient) -> None:
    assert "next to everything" not in web.get("/choose").text
    assert "next to everything" in web.get("/choose", params={"queries": "200"}).text


def test_numbers_come_as_json(web: TestClient) -> None:
    found = web.get("/epsilon.json", params={"eps": "0.1"}).json()
    lines = {line["key"]: line for line in found["statement"]["lines"]}
    assert lines["coin_flip"]["upper"] == pytest.approx(1 / (1 + math.exp(-0.1)))
    assert set(found["pictures"]) == {"people", "information", "odds", "cases", "tests", "orders", "error"}


def test_a_release_and_what_the_page_says_of_it(tmp_path: Path) -> None:
    keys = Keys(None, "c")
    web = TestClient(create_app(hospital(tmp_path, allow_release=True), keys=keys), base_url=HOME)
    assert "Nothing was released yet" in web.get("/release").text
    ask = {"statistic": "count", "where": "diagnosis = 'malignant'", "epsilon": "0.5", "name": "ill"}
    preview = web.get("/release", params=ask).text
    assert "± 6" in preview
    assert not (tmp_path / "hospital.db").exists()
    post = promised(web, keys, ask)
    first = web.post("/release", data=post, headers={"origin": HOME})
    value = re.search(r'class="answer">([^<]+)<', first.text)
    assert value is not None
    assert abs(int(value[1].replace("−", "-")) - 212) < 100  # e^(−50): never, by chance
    again = web.post("/release", data=promised(web, keys, ask), headers={"origin": HOME})
    assert "repeated from the ledger" in again.text
    assert f'class="answer">{value[1]}<' in again.text
    beyond = web.post(
        "/release", data=promised(web, keys, ask | {"epsilon": "2.6"}), headers={"origin": HOME}
    )
    assert beyond.status_code == 422
    assert 'class="answer"' not in beyond.text
    assert "cap" in beyond.text
    page = web.get("/release").text
    assert page.count('href="/release/entry/') == 1
    assert "62.25 %" in web.get("/release/entry/1").text
    assert web.get("/release/entry/2").status_code == 404


def test_a_ledger_of_another_policy_is_not_shown(tmp_path: Path) -> None:
    keys = Keys(None, "c")
    settings = hospital(tmp_path, allow_release=True)
    web = TestClient(create_app(settings, keys=keys), base_url=HOME)
    ask = {"statistic": "count", "epsilon": "0.5"}
    assert web.post("/release", data=promised(web, keys, ask), headers={"origin": HOME}).status_code == 200
    assert settings.policy is not None
    text = settings.policy.read_text()
    settings.policy.write_text(text.replace("nats_table = 200.0", "nats_table = 300.0"))
    page = web.get("/release").text
    assert "another policy" in page
    assert "Entries of the ledger" not in page


def test_a_goal_of_ones_own() -> None:
    """The identity written by hand measures what the identity does; another goal, by hand, something else."""
    web = TestClient(create_app(Settings()), base_url=HOME)
    ask = {"a": EXAMPLES["response"], "prior": "uniform"}
    rows = re.compile(r"<td class=\"num\">([^<]+)</td>")
    plain = rows.findall(web.get("/mechanism", params=ask | {"gain": "identity"}).text)
    own = ask | {"gain": "own", "goal": "1,0,0\n0,1,0\n0,0,1"}
    assert rows.findall(web.get("/mechanism", params=own).text) == plain
    safe = rows.findall(web.get("/mechanism", params=own | {"goal": "1,0,0\n0,1,0\n0,0,1\n0.7,0.7,0.7"}).text)
    assert safe != plain
    assert "0.7" in safe  # who may always gain 0.7 gains nothing from an answer that is right with 3/5


@pytest.mark.parametrize("goal", ["", "1,2", "a,b,c", "1,0,nan", "1,0,inf", "<b>,1,1", "1\n" * 3000, ","])
def test_a_goal_that_is_none_is_said(goal: str) -> None:
    web = TestClient(create_app(Settings()), base_url=HOME, raise_server_exceptions=False)
    answer = web.get("/mechanism", params={"a": EXAMPLES["response"], "gain": "own", "goal": goal})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert "<b>" not in answer.text


EXAMPLE_POLICIES = sorted(EXAMPLES_FOLDER.glob("*/policy*.toml"))


@pytest.mark.parametrize("policy", EXAMPLE_POLICIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
@pytest.mark.parametrize("allowed", [False, True])
def test_every_policy_of_the_examples_has_its_page(tmp_path: Path, policy: Path, allowed: bool) -> None:
    ledger = f"sqlite:///{tmp_path / 'none.db'}"
    settings = Settings(policy=policy, ledger=ledger, data=policy, allow_release=allowed)
    web = TestClient(create_app(settings, keys=Keys(None, "c")), base_url=HOME)
    page = web.get("/release")
    assert page.status_code == 200
    known = page.text.partition('aria-label="The policy"')[2].partition("</table>")[0]
    for name, column in load_policy(policy).columns.items():
        (told,) = re.findall(rf'<th scope="row">{re.escape(name)}</th><td>([^<]*)', known)
        if column.moments is not None:
            assert told.startswith(f"{column.moments[0]} to {column.moments[1]}")
        else:
            assert told
