"""`leakcap annex --registry`: a draft that a YAML reader takes as it was meant, and refusals in a line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from command_line import ROOT, leakcap
from leakcap.report.render.yaml import yaml_text

QUERIES = "examples/hospital/release.toml"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hospital after its first release."""
    folder = tmp_path_factory.mktemp("registry")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("*.db*", "*.html"))
    assert leakcap("release", QUERIES, cwd=folder).returncode == 0
    return folder


def test_the_entry_is_read_back_as_the_record_has_it(place: Path) -> None:
    done = leakcap("annex", QUERIES, "--registry", "--output", "hospital_2026.yaml", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    entry = yaml.safe_load((place / "hospital_2026.yaml").read_text(encoding="utf-8"))
    record = json.loads(leakcap("annex", QUERIES, "--registry", "--json", cwd=place).stdout)
    assert entry == record["entry"]
    assert yaml.safe_load(leakcap("annex", QUERIES, "--registry", cwd=place).stdout) == entry
    assert (entry["url_slug"], entry["status"], entry["tier"]) == ("breast-cancer-patients", "Draft", 2)
    told = entry["deployment"]
    # The caps of the hospital's policy are what is promised; 1.4 of them are spent.
    assert told["privacy_loss"]["privacy_parameters"] == {"epsilon": 3.0}
    assert "ε = 1.4." in told["privacy_loss"]["privacy_parameters_details"]
    assert told["dp_variant"]["variant_name"] == "Pure DP"
    assert "569" in told["dp_variant"]["unprotected_quantities"]
    assert told["deployment_model"]["model_name"] == "Central"
    assert told["basic"]["data_curators"] == ["An example hospital"]
    # The registry asks for the day as a text: a bare one would be read as a date.
    assert isinstance(told["basic"]["publication_date"], str)


def test_what_the_owner_states_raises_the_tier(place: Path) -> None:
    text = (place / QUERIES).read_text()
    more = 'preparation = "None."\nparameters = "The board chose ε."\n'
    (place / "examples/hospital/full.toml").write_text(text + more)
    bare = text.replace('data_source = "Static"\n', "")
    (place / "examples/hospital/bare.toml").write_text(bare)
    tiers = {}
    for name in ("full", "bare"):
        told = leakcap("annex", f"examples/hospital/{name}.toml", "--registry", cwd=place).stdout
        tiers[name] = yaml.safe_load(told)["tier"]
    assert tiers == {"full": 3, "bare": 1}


def test_what_is_missing_is_named_and_nothing_is_written(place: Path, tmp_path: Path) -> None:
    text = (place / QUERIES).read_text()
    head = text[: text.index("# What only the hospital")]
    (place / "examples/hospital/mute.toml").write_text(f'{head}[annex]\nregion = "Here"\n')
    done = leakcap("annex", "examples/hospital/mute.toml", "--registry", "--output", "e.yaml", cwd=place)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`curators`, `description`, `intended_use`, `authors`" in done.stderr
    assert not (place / "e.yaml").exists()
    for name in ("Hospital.yaml", "my-entry.yaml", "entry.json"):
        refused = leakcap("annex", QUERIES, "--registry", "--output", name, cwd=place)
        assert (refused.returncode, refused.stderr.count("\n")) == (2, 1), name
        assert not (place / name).exists()


TEXTS = [
    "plain", "yes", "no", "1e3", "2026-01-01", "null", "~", "a: b", "# no comment", "- item", "'", '"', "\\",
    "\\x", "\\\\[1]", "{a}", "[a]", "&a", "*a", "!a", "|", ">", "%", "@", "`", "two\nlines",
    "  indented\nlines",
    "lines\n  indented", "one\n\nmore", "ends \nin spaces ", "tab\there", "é€😀", "\u200b", "e\u0301", "",
]  # fmt: skip
NUMBERS: list[Any] = [0.0, 1.0, 1e-6, 1e-12, 2.5e-7, 3, 0.1, 1e22, 123456.789, True, 0]


def test_texts_and_numbers_mean_the_same_to_a_reader_of_yaml() -> None:
    """Readers of YAML 1.1 take 1e-06 for a text and 2026-01-01 for a day."""
    record = {f"t{place}": text for place, text in enumerate(TEXTS)}
    record |= {f"n{place}": number for place, number in enumerate(NUMBERS)}
    found = yaml.safe_load(yaml_text({"a": record, "list": TEXTS}))
    # Characters that nobody sees are written out, as on every way out.
    seen = {"\u200b": "\\u200b"}
    meant = {key: seen.get(text, text) if isinstance(text, str) else text for key, text in record.items()}
    assert found == {"a": meant, "list": [seen.get(text, text) for text in TEXTS]}
    assert [type(one) for one in found["a"].values()] == [type(one) for one in record.values()]
    assert yaml.safe_load("1e-06") == "1e-06"
