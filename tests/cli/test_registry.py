"""`leakcap annex --registry`: a draft that a YAML reader takes as it was meant, and refusals in a line."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from command_line import ROOT, Done, leakcap
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
    assert (entry["status"], entry["tier"]) == ("Draft", 2)
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


def registrys_slug(text: str) -> tuple[str, str]:
    """The address that the registry reads in an entry, and the one that it asks for.

    As `scripts/update_slug.py` of opendp/deployments-registry-data has both: the line is read without YAML.
    """

    def clean(messy: str) -> str:
        return re.sub(r"\W+", "_", messy.lower())

    basic = yaml.load(text, Loader=yaml.Loader)["deployment"]["basic"]
    wanted = "_".join(
        [
            clean(basic["name"]),
            clean("-".join(basic["data_curators"])),
            clean(basic["publication_date"].split("-")[0]),
        ]
    ).replace("_", "-")
    found = re.search(r"^url_slug: (.*)", text)
    assert found
    return found[1], wanted


@pytest.mark.parametrize(
    ("name", "curators"),
    [
        ("Breast cancer patients", ["An example hospital"]),
        ("FLEX (2018)", ["U.S. Census Bureau", "b"]),
        ("Zürichs Spitäler: '24", ["Zürich & Co."]),
        ("(2026)", ["01"]),
        ("_x__y-", ["---", "#"]),
        ("病院", ["\u3164 office"]),
    ],
)
def test_the_registrys_own_script_finds_nothing_to_correct(
    name: str, curators: list[str], place: Path
) -> None:
    text = (place / QUERIES).read_text()
    text = text.replace('"Breast cancer patients"', json.dumps(name, ensure_ascii=False))
    text = text.replace('["An example hospital"]', json.dumps(curators, ensure_ascii=False))
    (place / "examples/hospital/named.toml").write_text(text)
    written = leakcap("annex", "examples/hospital/named.toml", "--registry", cwd=place).stdout
    found, wanted = registrys_slug(written)
    assert found == wanted
    assert yaml.safe_load(written)["url_slug"] == found
    record = json.loads(
        leakcap("annex", "examples/hospital/named.toml", "--registry", "--json", cwd=place).stdout
    )
    assert record["entry"]["url_slug"] == found


def capped(folder: Path, caps: str) -> list[Done]:
    """The annex and the entry of one count under these caps."""
    folder.mkdir()
    (folder / "d.csv").write_text("ward\na\n")
    (folder / "p.toml").write_text(
        f'dataset = "d"\nneighbours = "add-remove-one"\n[caps]\n{caps}\n[columns.ward]\nkeys = ["a", "b"]\n'
    )
    (folder / "q.toml").write_text(
        'policy = "p.toml"\ndata = "d.csv"\nledger = "d.db"\n[[query]]\nname = "n"\nstatistic = "count"\n'
        'epsilon = 0.1\n[annex]\ncurators = ["c"]\ndescription = "d"\nintended_use = "u"\nregion = "r"\n'
        'authors = ["a"]\n'
    )
    assert leakcap("release", "q.toml", cwd=folder).returncode == 0
    return [leakcap("annex", "q.toml", *more, cwd=folder) for more in ([], ["--registry"])]


@pytest.mark.parametrize(
    ("caps", "variant", "parameters", "told"),
    [
        ("epsilon = 1.0", "Pure DP", {"epsilon": 1.0}, ["ε per person 1"]),
        ("rho = 1.5", "Zero-concentrated DP", {"rho": 1.5}, ["ρ per person 1.5"]),
        (
            "rho = 1.5\ndelta = 1e-6",
            "Custom",
            {"rho": 1.5, "delta": 1e-6},
            ["δ per person 1e-06", "ρ per person 1.5"],
        ),
        (
            "epsilon = 1.0\ndelta = 1e-6\ndelta_of_answers = 1e-7\norder = 2.75",
            "Approximate DP",
            {"epsilon": 1.0, "delta": 1e-6},
            ["ε per person 1", "δ per person 1e-06"],
        ),
        (
            "epsilon = 1.0\nrho = 1.5\nnats_level = 2.5\nalpha = 3.0\nqueries = 9",
            "Pure DP",
            {"epsilon": 1.0, "rho": 1.5},
            # Beside ρ the policy's δ is 0, which it does not say itself.
            ["ε per person 1", "nats at level 3 per person 2.5", "ρ per person 1.5", "queries 9"],
        ),
        ("nats_level = 1.0\nalpha = 2.0", None, {}, ["nats at level 2 per person 1"]),
        ("nats_per_person = 1.0", None, {}, ["nats per person 1"]),
    ],
)
def test_whichever_cap_makes_the_promise_is_told(
    caps: str, variant: str | None, parameters: dict[str, float], told: list[str], tmp_path: Path
) -> None:
    annex, entry = capped(tmp_path / "d", caps)
    assert (annex.returncode, annex.stderr) == (0, "")
    promised = ", ".join(one for one in told if not one.startswith("queries"))
    assert f"The policy lets no more than this ever be spent: {promised}." in " ".join(annex.stdout.split())
    if variant is None:
        assert (entry.returncode, entry.stdout, entry.stderr.count("\n")) == (2, "", 1)
        assert "caps neither `epsilon` nor `rho`" in entry.stderr
        return
    assert (entry.returncode, entry.stderr) == (0, "")
    found = yaml.safe_load(entry.stdout)["deployment"]
    assert found["dp_variant"]["variant_name"] == variant
    assert found["privacy_loss"]["privacy_parameters"] == parameters
    assert found["accounting"]["composition"].endswith(f" Caps: {', '.join(told)}.")
    custom = "ρ is that of zero-concentrated DP" in found["privacy_loss"]["privacy_parameters_details"]
    assert custom == (variant == "Custom")


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
