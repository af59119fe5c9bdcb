"""A number in the terminal, the report and the explorer is the same in all three, and rounded outward."""

from __future__ import annotations

import html
import re
import shutil
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pyarrow
from starlette.testclient import TestClient

from command_line import leakcap
from leakcap.cli.serve import _from_files
from leakcap.ledger import Ledger
from leakcap.release import PrivateTable
from leakcap.release.results.recorded import parsed_answer
from leakcap.web import Settings, create_app
from leakcap.web.serving.guard import Keys
from running_explorer import HOSPITAL, hospital

HOME = "http://127.0.0.1:8421"
ENDS = re.compile(r"-?[\d,.]+ to -?[\d,.]+")


def test_intervals_and_spends_are_those_of_the_terminal_and_of_the_report(tmp_path: Path) -> None:
    """Six answers, sixteen intervals; ends are outward, at least half of them rounded."""
    hospital(tmp_path)
    shutil.copy(HOSPITAL / "release.toml", tmp_path)
    done = leakcap("release", tmp_path / "release.toml")
    assert done.returncode == 0, done.stderr
    report = " ".join(
        html.unescape(re.sub(r"<[^>]+>", " ", (tmp_path / "hospital.html").read_text())).split()
    )
    settings = Settings(**_from_files([tmp_path / "release.toml"]))
    web = TestClient(create_app(settings, keys=Keys(None, "c")), base_url=HOME)
    seen = 0
    with Ledger.read(str(settings.ledger)) as book:
        for entry in book.entries():
            page = html.unescape(web.get(f"/release/entry/{entry.id}").text)
            shown = ENDS.findall(page.partition("What it alone")[0])
            answer = book.answer(entry.id)
            assert answer is not None
            known = parsed_answer(answer.values)
            assert known is not None
            ends = zip(known.lower, known.upper, strict=True)
            for text, (low, high) in zip(shown, ends, strict=True):
                least, most = (Fraction(end.replace(",", "")) for end in text.split(" to "))
                tick = Fraction(1, 10**12)
                assert least <= Fraction(low) + abs(Fraction(low)) * tick, (text, low)
                assert most >= Fraction(high) - abs(Fraction(high)) * tick, (text, high)
                assert text in done.stdout
                assert text.replace(" to ", " ") in report  # in two cells
                seen += 1
    assert seen == 16
    # What was spent, too: the terminal's row `nats per person 0.0335313 0.166468 0.2`.
    books = html.unescape(re.sub(r"<[^>]+>", " ", web.get("/release").text))
    for name in ("nats per person", "nats, whole table"):
        terminal = re.search(rf"^{name} +(\S+) +(\S+) +(\S+)", done.stdout, re.MULTILINE)
        assert terminal is not None
        spent, left, cap = terminal.groups()
        assert re.search(rf"{name}\s+{spent}\s+{cap}\s+{left}\s", books), (name, terminal[0])


def test_the_ledger_shows_no_more_digits_than_a_decimal_has(tmp_path: Path) -> None:
    """Cents have two digits, however small their noise is; so has the page after the answer."""
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'dataset = "bills"\nneighbours = "add-remove-one"\ncaps = { epsilon = 9000.0 }\n[columns]\n'
        'amount = { type = "decimal", places = 2, bounds = ["0.00", "3.00"] }\n'
        "weight = { bounds = [0.0, 3.0] }\n"
    )
    url = f"sqlite:///{tmp_path / 'bills.db'}"
    data = pyarrow.table(
        {"amount": [Decimal("1.10"), Decimal("2.25"), Decimal("0.05")], "weight": [1.0, 2.3, 0.7]}
    )
    with PrivateTable(data, policy=policy, ledger=url) as table:
        table.sum("amount", epsilon=300.0)
        table.sum("weight", epsilon=300.0)
    settings = Settings(policy=policy, ledger=url)
    web = TestClient(create_app(settings, keys=Keys(None, "c")), base_url=HOME)
    digits = []
    for entry in (1, 2):
        page = html.unescape(web.get(f"/release/entry/{entry}").text)
        (shown,) = ENDS.findall(page.partition("What it alone")[0])
        digits.append({len(end.partition(".")[2]) for end in shown.split(" to ")})
    assert digits[0] == {2}
    assert max(digits[1]) > 2
    listed = html.unescape(web.get("/release").text)
    assert re.search(r"<td class=\"num\">-?\d+\.\d\d to -?\d+\.\d\d</td>", listed)
