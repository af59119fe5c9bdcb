"""Channels on disk: every format gives back what was written, and bad files are named."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from leakcap.channel import Channel
from leakcap.errors import InvalidChannel

DENSE = Channel([[0.1, 0.9], [1 / 3, 2 / 3]], inputs=["a", "7"], outputs=["0", "yes, no"])
EXACT = Channel([[Fraction(1, 3), Fraction(2, 3)], [Fraction(1), Fraction(0)]])
SPARSE = Channel(sparse.csr_array([[0.5, 0.5, 0.0], [0.0, 0.1, 0.9]]))
DATABASES = Channel([[0.5, 0.5]] * 4, inputs=[(0, "a"), (0, "b"), (1, "a"), (1, "b")])
NUMBERS = Channel([[0.5, 0.5], [0.25, 0.75]], inputs=[-3, 10], outputs=[0, 10**30])
TUPLES = Channel([[1.0], [1.0]], inputs=[(0, "a"), (1, ("b", 2))])


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".json", ".JSON"])
@pytest.mark.parametrize(
    "channel", [DENSE, SPARSE, DATABASES, NUMBERS], ids=["dense", "sparse", "databases", "numbers"]
)
def test_round_trip(tmp_path, ending, channel):
    path = tmp_path / f"it's a channel{ending}"
    channel.save(path)
    back = Channel.load(path)
    assert back == channel
    assert (back.sparse is None) == (channel.sparse is None)


@pytest.mark.parametrize("ending", [".csv", ".json"])
def test_fractions_round_trip_exactly(tmp_path, ending):
    EXACT.save(tmp_path / f"c{ending}")
    assert Channel.load(tmp_path / f"c{ending}").exact.tolist() == EXACT.exact.tolist()


def test_tuples_as_labels_in_json(tmp_path):
    TUPLES.save(tmp_path / "c.json")
    assert Channel.load(tmp_path / "c.json") == TUPLES


READ = {
    "bare.csv": ("0.5,0.5\n0.25,0.75\n", (0, 1), (0, 1)),
    "spaced.csv": ("0.5, 0.5\n\n0.25, 0.75\n", (0, 1), (0, 1)),
    "labelled.csv": ("secret,yes,no\nill,0.5,0.5\nwell,0.25,0.75\n", ("ill", "well"), ("yes", "no")),
    "numbered.csv": (",0,1\n10,0.5,0.5\n007,0.25,0.75\n", ("10", "007"), (0, 1)),
    "integers.csv": (",-1,no\n10,0.5,0.5\n7,0.25,0.75\n", (10, 7), ("-1", "no")),
    "databases.csv": (',0,1\n"(0, a)",0.5,0.5\n"(1,b)",0.25,0.75\n', ((0, "a"), (1, "b")), (0, 1)),
    "mixed.csv": (',0,1\n"(0, a)",0.5,0.5\nwell,0.25,0.75\n', ("(0, a)", "well"), (0, 1)),
    "numbers_long.csv": (
        "input,output,probability\n1,0,0.5\n1,x,0.5\n2,0,0.25\n2,x,0.75\n",
        (1, 2),
        ("0", "x"),
    ),
    "marked.csv": ("\ufeff0.5,0.5\n0.25,0.75\n", (0, 1), (0, 1)),
    "list.json": ("[[0.5, 0.5], [0.25, 0.75]]", (0, 1), (0, 1)),
    "named.json": ('{"matrix": [[0.5, 0.5], [0.25, 0.75]], "outputs": ["y", "n"]}', (0, 1), ("y", "n")),
}


@pytest.mark.parametrize("name", READ)
def test_what_people_write(tmp_path, name):
    text, inputs, outputs = READ[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    channel = Channel.load(str(tmp_path / name))
    assert (channel.inputs, channel.outputs) == (inputs, outputs)
    entries = channel.matrix if channel.sparse is None else channel.sparse.toarray()
    assert entries.tolist() == [[0.5, 0.5], [0.25, 0.75]]


def test_parquet_of_another_writer(tmp_path):
    frame = pd.DataFrame({"who": ["ill", "well"], "+": [0.5, 0.25], "-": [0.5, 0.75]})
    frame.to_parquet(tmp_path / "c.parquet")
    expected = Channel([[0.5, 0.5], [0.25, 0.75]], inputs=["ill", "well"], outputs="+-")
    assert Channel.load(tmp_path / "c.parquet") == expected


BAD = {
    "missing.csv": (None, "not there"),
    "c.txt": ("0.5,0.5", "must end in .csv, .parquet, .json"),
    "empty.csv": ("", "empty file"),
    "blank.csv": ("\n\n", "blank lines"),
    "ragged.csv": ("0.5,0.5\n1.0\n", "1 cells in line 2, not 2"),
    "words.csv": ("x,a,b\none,0.5,half\n", "such as 0.25 or 1/4. Got 'half'"),
    "division.csv": ("x,a,b\none,1/0,1/2\n", "1/0"),
    "labels.csv": ("x,a,b\n", "no entries"),
    "sum.csv": ("x,a,b\none,0.5,0.4\n", "sum to one"),
    "twice.csv": ("x,a,a\none,0.5,0.5\n", "repeated label"),
    "long.csv": ("input,output,probability\na,b,0.5\na,b,0.5\n", "once"),
    "bytes.csv": (b"\xff\xfe\x00", "UTF-8"),
    "bad.json": ("{", "JSON"),
    "other.json": ('{"rows": 1}', "key `matrix`"),
    "scalar.json": ("3", "matrix"),
    "flat.json": ("[0.5, 0.5]", "list of rows"),
    "true.json": ("[[true]]", "Got bool"),
    "ragged.json": ("[[1.0], [0.5, 0.5]]", "different lengths"),
    "labels.json": ('{"matrix": [[1.0]], "inputs": ["a", "b"]}', "1 labels. Got 2"),
    "entries.json": ('{"entries": [[0, 0]], "inputs": [0], "outputs": [0]}', "row, column, probability"),
    "bare.json": ('{"entries": [[0, 0, 1.0]]}', "Add both"),
    "bad.parquet": ("not parquet", "must be a Parquet file"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_named(tmp_path, name):
    content, message = BAD[name]
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidChannel, match=message):
        Channel.load(path)


def test_nulls_in_parquet_are_named(tmp_path):
    pd.DataFrame({"x": ["a"], "0": [None], "1": [1.0]}).astype({"0": float}).to_parquet(
        tmp_path / "c.parquet"
    )
    with pytest.raises(InvalidChannel, match=r"null|NaN"):
        Channel.load(tmp_path / "c.parquet")


def test_labels_that_a_format_cannot_hold(tmp_path):
    for ending in (".csv", ".parquet"):
        with pytest.raises(InvalidChannel, match="Use JSON"):
            TUPLES.save(tmp_path / f"c{ending}")
        for labels in (["a", 7], ["7", "8"], [" a", "b"], [("a,b", 0), ("c", 1)], [(), (1,)]):
            with pytest.raises(InvalidChannel, match="Use JSON"):
                Channel(np.eye(2), inputs=labels).save(tmp_path / f"c{ending}")
    with pytest.raises(InvalidChannel, match="relabelled"):
        Channel(np.eye(1), inputs=[frozenset()]).save(tmp_path / "c.json")
    with pytest.raises(InvalidChannel, match="no fractions"):
        EXACT.save(tmp_path / "c.parquet")
