"""PostgreSQL servers of every encoding: no stored byte can stop a statement, and no two texts become one."""

from __future__ import annotations

from typing import Any

import numpy as np
import psycopg
import pytest

from leakcap.errors import DataError
from leakcap.models.examples import of_table
from leakcap.release import PrivateTable, attach
from leakcap.release.planning.statements import select_of
from ledger.server import execute
from release.world import exact, planned, policy_of

# An encoding, and bytes that it can hold: some have no counterpart in UTF-8, or are none of its characters.
HELD: dict[str, list[bytes]] = {
    "UTF8": ["€".encode(), "ü".encode(), b"\x7f", "\U0001f600".encode(), "\ufffd81".encode()],
    "LATIN1": [b"\x81", b"\xfc", b"\xff", b"\x80", b"\xa0"],
    "WIN1252": [b"\x81", b"\x8d", b"\xfc", b"\x80", b"\x90"],
    "SQL_ASCII": [b"\x81", b"\xff", b"\xc3\xbc", b"\xe2\x82", b"\xed\xa0\x80"],
    "EUC_JP": [b"\xa4\xa2", b"\x8e\xb1", b"\xfd\xfd", b"\x8f\xf5\xa1", b"\xad\xa1"],
    "EUC_TW": [b"a"],
}
READ = [name for name in HELD if name != "EUC_TW"]


def database(server: str, encoding: str) -> str:
    """A database in this encoding with people called by such bytes, three rows each."""
    url, name = server.removesuffix("/postgres"), f"in_{encoding.lower()}"
    execute(
        server,
        f"DROP DATABASE IF EXISTS {name}",
        f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'",
    )
    texts = [b"a", b"b", *HELD[encoding]]
    with psycopg.connect(
        f"{url}/{name}".replace("+psycopg", ""), client_encoding="UTF8", autocommit=True
    ) as connection:
        connection.execute("CREATE TABLE t (id text, d text, v varchar(9), x float8)")
        for text in texts * 3:
            stored = f"convert_from('\\x{text.hex()}'::bytea, '{encoding}')"
            connection.execute(f"INSERT INTO t VALUES ({stored}, {stored}, {stored}, 1)")
    return f"{url}/{name}"


@pytest.mark.parametrize("encoding", READ)
def test_no_stored_byte_stops_a_statement(server: str, encoding: str) -> None:
    url, count = database(server, encoding), 2 + len(HELD[encoding])
    policy = policy_of(
        unit={"id": "id", "max_rows": 2},
        columns={"d": {"keys": "private"}, "v": {"keys": ["a", "b"]}, "x": {"bounds": [0.0, 2.0]}},
        caps={"epsilon": 1e4, "delta": 0.5},
    )
    table = PrivateTable(url, table="t", policy=policy, ledger="sqlite://")
    assert exact(planned(policy, statistic="count"), table.engine) == [[2 * count]]
    assert exact(planned(policy, statistic="count", by=("v",)), table.engine) == [[2, 2]]
    # A person's rows are alike here: a group for each, with two of three rows in it, if that is let out.
    plan = planned(policy, statistic="distinct", by=("d",), delta=0.1)
    groups = table.engine.run(table.engine.write(select_of([plan]))).arrays[0].tolist()
    assert len(set(groups)) == count
    assert {"a", "b"} < set(groups)
    people = of_table(table, ["x"], "v", None, classes=True, centred=True).read()[2]
    assert people is not None
    assert np.bincount(people).tolist() == [2] * count
    released = table.count(by="d", epsilon=100.0, delta=0.1)
    assert {row.keys["d"] for row in released.rows} <= set(groups)


def test_keys_of_the_policy_are_sent_in_the_servers_encoding(server: str) -> None:
    url = database(server, "WIN1252")
    engine = attach(url, table="t")
    # 80 is the euro sign there, fc a letter; so is the byte that Latin 1 has for it.
    policy = policy_of(columns={"d": {"keys": ["€", "ü", "a", "\ufffd81"]}})
    with pytest.raises(DataError, match=r"has no `\ufffd`.*Nothing was spent"):
        engine.write(select_of([planned(policy, statistic="count", by=("d",))]))
    policy = policy_of(columns={"d": {"keys": ["€", "ü", "a"]}})
    assert exact(planned(policy, statistic="count", by=("d",)), engine) == [[3, 3, 3]]


def test_a_key_that_the_server_cannot_hold_is_refused_before_anything_is_spent(server: str) -> None:
    url = database(server, "LATIN1")
    policy = policy_of(columns={"d": {"keys": ["€", "a"]}})
    table = PrivateTable(url, table="t", policy=policy, ledger="sqlite://")
    with pytest.raises(DataError, match="The server's encoding has no `€`"):
        table.count(by="d", epsilon=1.0)
    assert table.budget()[0].spent == 0.0


def test_an_encoding_that_python_does_not_know_is_refused_by_its_name(server: str) -> None:
    url = database(server, "EUC_TW")
    with pytest.raises(DataError, match="in an encoding that Python does not have"):
        attach(url, table="t")


def test_bytes_stay_apart_in_every_encoding_of_one_byte() -> None:
    from leakcap.release.engine.encodings import _text

    tried = 0
    for codec in ("cp1252", "cp1251", "cp874", "iso8859-1", "iso8859-6", "koi8-r", "cp1258", "utf-8"):
        found: dict[str, Any] = {_text(bytes([byte]), codec): byte for byte in range(1, 256)}
        assert len(found) == 255, codec
        tried += 255
    assert tried == 8 * 255
