"""The broken wifi against a real table and its ledger: it reads, and each cap stops it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from leakcap.attack import FieldRead, read_everybody, read_field, search_field
from leakcap.attack.codes.use import Use
from leakcap.attack.wifi import field
from leakcap.attack.wifi.choice import code_for
from leakcap.errors import BudgetExceeded, InvalidParameter
from leakcap.release import PrivateTable
from seeded import SeededSource

SECRETS = [5, 12, 0, 9, 3, 15]
BITS, EPSILON, USES = 4, 2.0, 40
"""Per use 0.47 bits: 19 bits for a field of four, so that a frame error is rarer than 1e-3."""


def table(**caps: float) -> PrivateTable:
    people = len(SECRETS)
    policy: dict[str, Any] = {
        "dataset": "wifi",
        "unit": {"id": "id"},
        "neighbours": "add-remove-one",
        "max_rows": people,
        "caps": {"epsilon": 1000.0, **caps},
        "columns": {"id": {"keys": list(range(people))}, "pin": {"bounds": [0.0, 15.0]}},
    }
    data = pyarrow.table({"id": list(range(people)), "pin": [float(secret) for secret in SECRETS]})
    return PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(7))


def one(victim: PrivateTable) -> Any:
    generator = np.random.default_rng(1)
    return read_field(
        victim, "pin", person="id = 1", bits=BITS, epsilon=EPSILON, uses=USES, generator=generator
    )


def everybody(victim: PrivateTable) -> Any:
    generator = np.random.default_rng(1)
    return read_everybody(victim, "pin", by="id", bits=BITS, epsilon=EPSILON, uses=USES, generator=generator)


def test_one_field_is_read() -> None:
    found = one(table())
    assert found.values == {"id = 1": SECRETS[1]}
    assert found.confidence["id = 1"] > 0.99
    assert found.epsilon_spent == USES * EPSILON
    assert 0.0 < found.ratio < 1.0
    assert found.got < found.at_most
    assert found.to_dict()["values"] == {"id = 1": SECRETS[1]}


def test_everybody_is_read_at_the_same_epsilon() -> None:
    single, all_ = one(table()), everybody(table())
    assert all_.values == dict(enumerate(SECRETS))
    assert all_.epsilon_spent == single.epsilon_spent
    assert all_.nats_table_spent >= len(SECRETS) * single.nats_table_spent * (1 - 1e-9)


def test_the_tables_cap_stops_everybody_and_not_one() -> None:
    spent = one(table()).nats_table_spent
    victim = table(nats_table=1.5 * spent)
    with pytest.raises(BudgetExceeded, match="nats_table"):
        everybody(victim)
    assert victim.ledger.totals().epsilon == 0.0
    assert one(victim).values == {"id = 1": SECRETS[1]}


@pytest.mark.parametrize(
    ("caps", "named"), [({"epsilon": 10.0}, "epsilon"), ({"nats_per_person": 1.0}, "person")]
)
def test_a_persons_cap_stops_both(caps: dict[str, float], named: str) -> None:
    for attack in (one, everybody):
        victim = table(**caps)
        with pytest.raises(BudgetExceeded, match=named):
            attack(victim)
        assert victim.ledger.totals().epsilon == 0.0


def test_a_search_reads_with_fewer_answers_and_stops_at_the_cap() -> None:
    found = search_field(table(), "pin", person="id = 3", bits=BITS, epsilon=EPSILON)
    assert found.values == {"id = 3": SECRETS[3]}
    assert found.uses < USES
    assert found.epsilon_spent == found.uses * EPSILON
    victim = table(epsilon=6.0)
    with pytest.raises(BudgetExceeded):
        search_field(victim, "pin", person="id = 3", bits=BITS, epsilon=EPSILON)
    assert victim.ledger.totals().epsilon == 6.0


WIDE = 45
FIELD = [0x1234_5678_9ABC, 0x1FFF_0000_1111, 0x0]


def wide(seed: int, columns: int) -> PrivateTable:
    """Fields of 45 bits, in one integer column or in three, the most significant first."""
    each = WIDE // columns
    names = "abc"[:columns]
    policy = {
        "dataset": "wifi",
        "neighbours": "add-remove-one",
        "max_rows": 3,
        "caps": {"epsilon": 10_000.0},
        "columns": {
            "id": {"keys": [0, 1, 2]},
            **{name: {"keys": "private", "type": "integer"} for name in names},
        },
    }
    fields = [field % (1 << WIDE) for field in FIELD]
    parts = {
        name: [field >> each * (columns - 1 - i) & ((1 << each) - 1) for field in fields]
        for i, name in enumerate(names)
    }
    data = pyarrow.table({"id": [0, 1, 2], **parts})
    return PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(seed))


@pytest.mark.parametrize("columns", [1, 3])
def test_a_long_field_is_read_through_parities_of_masks(columns: int) -> None:
    """0.47 bit a use: 170 uses carry 80 bits, so that a polar code of 45 is wrong once in 10⁶ at most.

    By the normal approximation, Q((170·C − 45·ln 2)/√(170·V)) = 10⁻⁹ for the best code.
    """
    names = list("abc")[:columns]
    found = read_everybody(
        wide(8, columns),
        names,
        by="id",
        bits=WIDE,
        epsilon=EPSILON,
        uses=170,
        generator=np.random.default_rng(2),
    )
    assert found.values == {i: field % (1 << WIDE) for i, field in enumerate(FIELD)}
    assert min(found.confidence.values()) > 0.9
    assert found.attack.startswith("broken wifi, polar")
    assert found.epsilon_spent == 170 * EPSILON


@pytest.mark.parametrize(("columns", "together"), [(5, 2), pytest.param(122, 60, marks=pytest.mark.slow)])
def test_more_columns_than_a_condition_holds_are_read_in_blocks(
    columns: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns of one bit in three blocks. At ε = 4 a use carries 0.87 bit, and there are two a bit: enough
    for each block with an error below 10⁻⁶, but at five columns, of one or two bits, which get eight."""
    monkeypatch.setattr(field, "_TOGETHER", together)
    bits = np.random.default_rng(5).integers(2, size=columns).tolist()
    names, uses = [f"c{i}" for i in range(columns)], 2 * columns if columns > 9 else 8 * columns
    policy = {
        "dataset": "wifi",
        "neighbours": "add-remove-one",
        "max_rows": 1,
        "caps": {"epsilon": 10_000.0},
        "columns": {"id": {"keys": [0]}, **{n: {"keys": "private", "type": "integer"} for n in names}},
    }
    data = pyarrow.table({"id": [0], **{n: [bit] for n, bit in zip(names, bits, strict=True)}})
    victim = PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(3))

    def read(uses: int) -> FieldRead:
        generator = np.random.default_rng(4)
        return read_field(
            victim, names, person="id = 0", bits=columns, epsilon=4.0, uses=uses, generator=generator
        )

    found = read(uses)
    assert found.values == {"id = 0": int("".join(map(str, bits)), 2)}
    assert found.attack.endswith("3 blocks")
    assert (found.uses, found.epsilon_spent) == (uses, 4.0 * uses)
    assert found.above_by_chance is not False
    with pytest.raises(InvalidParameter, match="one for each block"):
        read(2)


@pytest.mark.slow
def test_everybody_s_fields_are_far_more_than_3780_bits(tmp_path: Path) -> None:
    """600 people of 63 bits, 37,800 in all, on a ledger in a file: 0.87 bit a use, 110 uses carry 95.6.

    By the normal approximation a field of the best code is wrong with probability below 10⁻⁷; polar codes
    of this length lose a few in a thousand: more than 6 of 600 is a false alarm below 1 %, and the noise
    is seeded.
    """
    found, secrets = read_town(600, 110, f"sqlite:///{tmp_path}/ledger.db", SeededSource(11))
    right = sum(found.values[i] == secret for i, secret in enumerate(secrets))
    assert right >= 594
    assert right * 63 > 9 * 3780
    assert 0.6 < found.ratio < 1.0
    assert found.epsilon_spent == 110 * 4.0
    assert found.nats_table_spent >= right * 63 * np.log(2)  # what was read was paid for


def read_town(people: int, uses: int, ledger: str, source: SeededSource) -> tuple[FieldRead, list[int]]:
    secrets = np.random.default_rng(people).integers(1 << 63, size=people).tolist()
    policy = {
        "dataset": "town",
        "neighbours": "add-remove-one",
        "max_rows": people,
        "caps": {"epsilon": 100_000.0},
        "columns": {"id": {"keys": list(range(people))}, "code": {"keys": "private", "type": "integer"}},
    }
    data = pyarrow.table({"id": list(range(people)), "code": secrets})
    victim = PrivateTable(data, policy=policy, ledger=ledger, source=source)
    generator = np.random.default_rng(1)
    found = read_everybody(victim, ["code"], by="id", bits=63, epsilon=4.0, uses=uses, generator=generator)
    return found, secrets


def test_masks_the_wrong_way_round_read_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: columns least significant first."""
    straight = field._masks
    monkeypatch.setattr(field, "_masks", lambda bits, columns: [m[::-1] for m in straight(bits, columns)])
    found = read_everybody(
        wide(8, 3),
        list("abc"),
        by="id",
        bits=WIDE,
        epsilon=EPSILON,
        uses=170,
        generator=np.random.default_rng(2),
    )
    assert found.values[0] != FIELD[0] % (1 << WIDE)


@pytest.mark.parametrize(("bits", "uses"), [(12, 50), (40, 200), (800, 20_000)])
def test_every_code_is_linear(bits: int, uses: int) -> None:
    """So that a symbol is the parity of some bits of the field: what masks stand for."""
    code = code_for(bits, uses, Use(0.336), np.random.default_rng(1))
    messages = np.random.default_rng(2).integers(2, size=(3, bits), dtype=np.uint8)
    generators = code.encode(np.eye(bits, dtype=np.uint8))
    assert np.array_equal(code.encode(messages), messages.astype(int) @ generators.astype(int) % 2)


@pytest.mark.parametrize(
    ("columns", "bits", "uses", "message"),
    [
        ((), 4, 4, "1 to 6000 columns"),
        (("pin", "id"), 4, 4, "integer columns"),
        (("pin",), 4, 0, "at least 1"),
        (("pin",), 9, 9, "from 1 to 8"),
        (("id",), 64, 9, "from 1 to 63"),
        (("id", "id"), 5, 9, "multiple of the 2"),
    ],
)
def test_a_field_that_cannot_be_read(columns: tuple[str, ...], bits: int, uses: int, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        read_field(
            table(),
            columns,
            person="id = 1",
            bits=bits,
            epsilon=1.0,
            uses=uses,
            generator=np.random.default_rng(0),
        )
