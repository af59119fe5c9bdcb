"""A number in the terminal, the report and the explorer is the same in all three, and rounded outward."""

from __future__ import annotations

import html
import re
import shutil
from fractions import Fraction
from pathlib import Path

from starlette.testclient import TestClient

from command_line import leakcap
from leakcap.cli.serve import _from_file
from leakcap.ledger import Ledger
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
    settings = Settings(**_from_file(tmp_path / "release.toml"))
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
