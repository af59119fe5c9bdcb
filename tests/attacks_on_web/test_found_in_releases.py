"""Found by attacking the form that spends: sent twice, sent changed, sent by many at once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from leakcap.ledger import Ledger
from leakcap.web import Settings, create_app
from leakcap.web.serving.guard import Keys
from running_explorer import hospital, promised

HOME = "http://127.0.0.1:8421"
ORIGIN = {"origin": HOME}


def opened(settings: Settings, keys: Keys) -> TestClient:
    return TestClient(create_app(settings, keys=keys), base_url=HOME, raise_server_exceptions=False)


@pytest.fixture
def keys() -> Keys:
    return Keys(None, "c")


def spent(settings: Settings) -> float:
    assert settings.ledger is not None
    if not Path(settings.ledger.removeprefix("sqlite:///")).exists():
        return 0.0
    with Ledger.read(settings.ledger) as book:
        return book.totals().epsilon


def test_a_form_sent_again_pays_once(keys: Keys, tmp_path: Path) -> None:
    """Also where the table changed meanwhile, so that the ledger has no answer to repeat."""
    settings = hospital(tmp_path, allow_release=True)
    web = opened(settings, keys)
    form = promised(web, keys, {"statistic": "count", "epsilon": "0.25"})
    assert web.post("/release", data=form, headers=ORIGIN).status_code == 200
    data = Path(str(settings.data))
    data.write_bytes(data.read_bytes())  # another state of the file, by its times
    again = web.post("/release", data=form, headers=ORIGIN)
    assert again.status_code == 422
    assert "sent before" in again.text
    assert spent(settings) == 0.25


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": "0.5"},
        {"where": "diagnosis = 'malignant'"},
        {"name": "other"},
        {"statistic": "mean", "column": "mean_radius"},
        {"promise": ""},
        {"promise": "x.y"},
        {"promise": "é" * 50},
    ],
)
def test_only_what_was_previewed_is_released(change: dict[str, str], keys: Keys, tmp_path: Path) -> None:
    settings = hospital(tmp_path, allow_release=True)
    web = opened(settings, keys)
    form = promised(web, keys, {"statistic": "count", "epsilon": "0.25"})
    answer = web.post("/release", data=form | change, headers=ORIGIN)
    assert answer.status_code == 422
    assert "Preview it again" in answer.text
    assert spent(settings) == 0.0


def test_a_policy_that_changed_since_the_preview_is_not_released_under(keys: Keys, tmp_path: Path) -> None:
    settings = hospital(tmp_path, allow_release=True)
    web = opened(settings, keys)
    form = promised(web, keys, {"statistic": "sum", "column": "mean_radius", "epsilon": "0.25"})
    assert settings.policy is not None
    text = settings.policy.read_text()
    settings.policy.write_text(text.replace("nats_table = 200.0", "nats_table = 300.0"))
    assert web.post("/release", data=form, headers=ORIGIN).status_code == 422
    assert spent(settings) == 0.0
    settings.policy.write_text(text)
    assert web.post("/release", data=form, headers=ORIGIN).status_code == 200


def test_a_promise_of_another_run_is_none(keys: Keys, tmp_path: Path) -> None:
    settings = hospital(tmp_path, allow_release=True)
    form = promised(opened(settings, keys), keys, {"statistic": "count", "epsilon": "0.25"})
    assert opened(settings, keys).post("/release", data=form, headers=ORIGIN).status_code == 422


def test_many_at_once_pay_for_no_more_than_one_by_one(keys: Keys, tmp_path: Path) -> None:
    """Two explorers on one ledger and eight releases at a time, of which the caps allow fewer."""
    asks = [{"statistic": "count", "where": f"mean_radius > {i}", "epsilon": "0.7"} for i in range(8)]
    settings: list[Settings] = []
    for name in ("together", "in turn"):
        (tmp_path / name).mkdir()
        settings.append(hospital(tmp_path / name, allow_release=True))
    webs = [opened(settings[0], keys), opened(settings[0], keys)]
    forms = [promised(webs[i % 2], keys, ask) for i, ask in enumerate(asks)]
    with ThreadPoolExecutor(8) as pool:
        sent = pool.map(lambda i: webs[i % 2].post("/release", data=forms[i], headers=ORIGIN), range(8))
        together = [answer.status_code for answer in sent]
    alone = opened(settings[1], keys)
    turns = [alone.post("/release", data=promised(alone, keys, ask), headers=ORIGIN) for ask in asks]
    in_turn = [answer.status_code for answer in turns]
    assert sorted(together) == sorted(in_turn)
    assert 0 < together.count(200) < 8
    assert together.count(200) + together.count(422) == 8
    assert spent(settings[0]) == pytest.approx(0.7 * together.count(200), abs=1e-9)


def test_the_ledgers_seed_is_on_no_page(keys: Keys, tmp_path: Path) -> None:
    settings = hospital(tmp_path, allow_release=True)
    web = opened(settings, keys)
    shown = [web.post("/release", data=promised(web, keys, {"statistic": "count", "epsilon": "0.1"}),
                      headers=ORIGIN).text]  # fmt: skip
    assert settings.ledger is not None
    with Ledger.read(settings.ledger) as book:
        seed = book.seed
    assert len(seed) == 32
    for path in ("/release", "/release/entry/1", "/release/policy.json", "/epsilon.json"):
        answer = web.get(path)
        assert answer.status_code == 200
        shown.append(answer.text)
        shown.append(json.dumps(dict(answer.headers)))
    assert not [page for page in shown if seed in page]


def test_a_databases_password_is_on_no_page(keys: Keys, tmp_path: Path) -> None:
    settings = hospital(tmp_path, allow_release=True)
    secret = "postgresql://owner:s3cr3t-pa55@127.0.0.1:1/x"
    for odd in (replace(settings, ledger=secret), replace(settings, data=secret, table="t")):
        web = opened(odd, keys)
        ask = {"statistic": "count", "epsilon": "0.1"}
        pages = [web.get("/release"), web.get("/release", params=ask)]
        pages.append(web.post("/release", data=promised(web, keys, ask), headers=ORIGIN))
        pages.append(web.get("/release/entry/1"))
        for page in pages:
            assert "s3cr3t" not in page.text
            assert page.status_code in (200, 404, 422)
