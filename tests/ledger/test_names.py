"""One file, one name: what a hard link, a mount, a renamed or replaced file would let through is refused."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from leakcap.errors import BudgetExceeded, LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Spend, place
from ledger.conftest import POLICY
from warmed import Warmed

ONE = Charge("n", "count", Spend(epsilon=0.1))
Named = Callable[[Path], Ledger]


@pytest.fixture
def named() -> Iterator[Named]:
    """Open the ledger that a path names; all are closed at the end."""
    with ExitStack() as stack:

        def open_(path: Path) -> Ledger:
            url = f"sqlite:///{path}"
            found = Ledger.open(url, dataset="patients", policy=POLICY, caps=Caps(epsilon=0.9))
            return stack.enter_context(found)

        yield open_


def spent(path: Path) -> int:
    with Ledger.read(f"sqlite:///{path}") as book:
        book.verify()
        return book.totals().entries


def fill(*ledgers: Ledger) -> int:
    """How many spends of a ninth of the cap go through, in turns, until every ledger refuses."""
    done, left = 0, list(ledgers)
    while left:
        for ledger in tuple(left):
            try:
                ledger.reserve([ONE])
                done += 1
            except BudgetExceeded:
                left.remove(ledger)
    return done


def test_a_second_name_is_refused_from_the_moment_that_it_is_there(file: Path, named: Named) -> None:
    first, other = named(file), file.with_name("other.db")
    first.reserve([ONE])
    other.hardlink_to(file)
    many = r"has 2 names \(hard links\), and spends made through one .* Remove all but one; a backup is a"
    for asked in (
        lambda: named(other),
        lambda: named(file),
        lambda: first.reserve([ONE]),
        lambda: first.check([ONE]),
        lambda: first.mark_released([1]),
        lambda: Ledger.read(f"sqlite:///{other}"),
        lambda: Ledger.resume(f"sqlite:///{other}"),
    ):
        with pytest.raises(LedgerError, match=many):
            asked()
    other.unlink()
    assert fill(first, named(file)) == 8
    assert spent(file) == 9


def test_a_file_with_two_names_is_refused_before_it_is_a_ledger(file: Path, named: Named) -> None:
    file.touch()
    file.with_name("other.db").hardlink_to(file)
    with pytest.raises(LedgerError, match="2 names"):
        named(file)
    assert file.stat().st_size == 0


def test_a_symbolic_link_is_no_second_name(file: Path, named: Named, tmp_path: Path) -> None:
    """SQLite keeps the log beside the file that the link leads to: one log, one count."""
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "link.db").symlink_to(file)
    (tmp_path / "near").symlink_to(tmp_path)
    names = [file, tmp_path / "far" / "link.db", tmp_path / "near" / file.name]
    assert fill(*map(named, names)) == 9
    assert [spent(name) for name in names] == [9, 9, 9]


def test_reading_through_a_link_in_a_closed_folder_sees_the_log(
    file: Path, named: Named, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its log a ledger looks as if less was spent; it is beside the file, not beside the link."""
    (tmp_path / "far").mkdir()
    link = tmp_path / "far" / "link.db"
    link.symlink_to(file)
    ledger, access = named(file), os.access
    ledger.reserve([ONE])
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path) != link.parent and access(path, mode)
    )  # the tests may run as root, to whom nothing is closed
    assert spent(link) == 1


@pytest.mark.parametrize("how", ["replaced", "deleted", "renamed", "link turned"])
def test_what_the_path_names_no_longer_is_not_spent_from(file: Path, named: Named, how: str) -> None:
    path, copy = file, file.with_name("copy.db")
    if how == "link turned":
        path = file.with_name("link.db")
        path.symlink_to(file)
    named(path).close()
    shutil.copy(file, copy)
    ledger = named(path)
    ledger.reserve([ONE])
    if how == "replaced":
        copy.replace(file)
    elif how == "deleted":
        file.unlink()
    elif how == "renamed":
        file.rename(file.with_name("renamed.db"))
    else:
        path.unlink()
        path.symlink_to(copy)
    with pytest.raises(LedgerError, match="was moved, replaced or deleted while it was open"):
        ledger.reserve([ONE])


def test_a_renamed_ledger_does_not_lose_what_its_log_holds(
    file: Path, named: Named, started: Callable[..., Warmed]
) -> None:
    """A process that is killed leaves a log; the file alone, under another name, has room for its spends."""
    named(file).close()
    code = "ledger.reserve([Charge('n', 'count', Spend(0.1))] * 9); print('done', flush=True); time.sleep(60)"
    process = started(code, url=f"sqlite:///{file}")
    assert process.stdout.readline() == "done\n"
    process.kill()
    process.wait()
    renamed = file.with_name("renamed.db")
    file.rename(renamed)
    lost = (
        r"The log `hospital\.db-wal` holds entries that the ledger `.*renamed\.db` lacks: .* `hospital\.db`\."
    )
    for asked in (named, lambda path: Ledger.read(f"sqlite:///{path}")):
        with pytest.raises(LedgerError, match=lost):
            asked(renamed)
    with pytest.raises(LedgerError, match=r"is missing, and its log `hospital\.db-wal` is there"):
        named(file)
    assert not file.exists()
    renamed.rename(file)
    assert fill(named(file)) == 0
    assert spent(file) == 9


def test_the_log_of_another_program_is_nobody_s_business(file: Path, named: Named) -> None:
    file.with_name("theirs.sqlite-wal").write_bytes(b"whatever" * 1000)
    assert fill(named(file)) == 9


MOUNTS = r"""22 1 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - {root} /dev/vda rw
40 27 0:50 / {folder} rw,relatime shared:1 - {kind} server:/export rw
"""


@pytest.mark.parametrize("kind", sorted(place._SHARED))
def test_a_share_is_refused(file: Path, named: Named, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    mounts = file.with_name("mountinfo")
    monkeypatch.setattr(place, "_MOUNTS", mounts)
    mounts.write_text(MOUNTS.format(root="ext4", kind=kind, folder=file.parent))
    with pytest.raises(LedgerError, match=rf"lies on a share \(`{kind}`\), where machines do not see each"):
        named(file)
    assert not file.exists()
    # What is mounted over it later, or within it, counts instead.
    mounts.write_text(mounts.read_text() + f"41 40 0:51 / {file.parent} rw - tmpfs tmpfs rw\n")
    assert fill(named(file)) == 9


def test_a_virtual_machine_s_own_disk_is_no_share(
    file: Path, named: Named, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = file.with_name("mountinfo")
    monkeypatch.setattr(place, "_MOUNTS", mounts)
    for root, own in (("9p", True), ("virtiofs", True), ("nfs4", False)):
        mounts.write_text(MOUNTS.format(root=root, kind="nfs4", folder="/elsewhere"))
        if own:
            named(file)
            continue
        with pytest.raises(LedgerError, match="lies on a share"):
            named(file)


def test_a_file_that_is_mounted_alone_is_refused(
    tmp_path: Path, named: Named, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As containers do with `-v hospital.db:/data/hospital.db`; the log would stay in the container."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    file, mounts = folder / "hospital.db", tmp_path / "mountinfo"
    file.touch()
    monkeypatch.setattr(place, "_MOUNTS", mounts)
    for name, refused in ((file, True), (folder, False), (folder / "hospital", False)):
        mounts.write_text(MOUNTS.format(root="ext4", kind="ext4", folder=str(name).replace(" ", "\\040")))
        if not refused:
            named(file)
            continue
        with pytest.raises(LedgerError, match=r"is mounted as a single file, .* Mount its directory"):
            named(file)


def test_only_a_plain_file_is_a_ledger(tmp_path: Path, named: Named) -> None:
    os.mkfifo(tmp_path / "pipe.db")
    for path in (Path("/dev/null"), tmp_path / "pipe.db"):
        with pytest.raises(LedgerError, match="is not a plain file"):
            named(path)
