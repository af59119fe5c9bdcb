"""Which file a ledger is: one file, under one name, on one machine.

SQLite's write-ahead log lies beside the *name* under which a file was opened. Under a second name the same
file has a second log, and what is spent through one is not seen through the other. A second name is a hard
link, or a file that is mounted by itself; a symbolic link is none, for SQLite follows it. On a network share
two machines have the file, and each its own picture of the log.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from leakcap.errors import LedgerError

__all__ = ["READ_ONLY", "Inode", "Place"]

Inode: TypeAlias = tuple[int, int]
"""Device and number of a file, which stay while anything has it open."""

READ_ONLY = "cannot be written: the file or its directory is read-only."

_MOUNTS = Path("/proc/self/mountinfo")
_SHARED = frozenset(
    [
        "9p",
        "acfs",
        "afs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "fuse.ceph",
        "fuse.davfs2",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "fuse.vmhgfs-fuse",
        "gfs2",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs3",
        "nfs4",
        "ocfs2",
        "orangefs",
        "pvfs2",
        "smb2",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
        "vmhgfs",
    ]
)
# A virtual machine's own disk may be handed to it so.
_OWN_ROOTS = frozenset({"9p", "virtiofs"})


@dataclass(frozen=True)
class Place:
    """The path of an SQLite ledger, as it was given; `label` is what messages call the ledger."""

    path: Path
    label: str

    @property
    def file(self) -> Path:
        """The file that SQLite opens: symbolic links are followed."""
        return Path(os.path.realpath(self.path))

    @property
    def log(self) -> Path:
        """The write-ahead log of that file."""
        return self.file.with_name(self.file.name + "-wal")

    def require(self, *, read_only: bool) -> None:
        """Raise `LedgerError` unless a ledger can be opened here: before SQLite touches anything."""
        file = self.file
        if file.is_dir():
            raise LedgerError(f"The ledger `{self.label}` is a directory. Name a file.")
        if not file.parent.is_dir():
            raise LedgerError(
                f"The directory of the ledger `{self.label}` does not exist. Create it, or correct the URL."
            )
        parts = [part for part in (file.parent, file) if part.exists()]
        if not read_only and not all(os.access(part, os.W_OK) for part in parts):
            raise LedgerError(f"The ledger `{self.label}` {READ_ONLY}")
        if read_only and not file.exists():
            raise LedgerError(
                f"There is no ledger `{self.label}`. Check the URL; a first release creates a ledger."
            )
        self._require_mount(file)
        if self.inode() is None and _filled(self.log):
            raise LedgerError(
                f"The ledger `{self.label}` is missing, and its log `{self.log.name}` is there, which may "
                "hold spends. Bring the file back to its log."
            )

    def inode(self) -> Inode | None:
        """The file that the path names now; None where there is none. Raises `LedgerError` where it has other
        names too, or is no file."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(found.st_mode):
            raise LedgerError(f"The ledger `{self.label}` is not a plain file. Name one.")
        if found.st_nlink > 1:
            raise LedgerError(
                f"The ledger `{self.label}` has {found.st_nlink} names (hard links), and spends made through "
                "one are not seen through another. Remove all but one; a backup is a copy."
            )
        return found.st_dev, found.st_ino

    def require_same(self, opened: Inode | None) -> None:
        """Raise `LedgerError` unless the path still names the file that was opened, and nothing else does."""
        if self.inode() != opened:
            raise LedgerError(
                f"The ledger `{self.label}` was moved, replaced or deleted while it was open. Nothing was "
                "spent. Bring the file back, and open it again."
            )

    def require_no_lost_log(self, head: str) -> None:
        """Raise `LedgerError` where a log without its file holds what was committed after the row `head`:
        then the file was renamed, and its log was not.
        """
        for log in self.file.parent.glob("*-wal"):
            owner = log.with_name(log.name.removesuffix("-wal"))
            if not owner.exists() and _filled(log) and _holds(log, head):
                raise LedgerError(
                    f"The log `{log.name}` holds entries that the ledger `{self.label}` lacks: the file was "
                    f"renamed without it. Bring back its name `{owner.name}`."
                )

    @property
    def absent(self) -> bool:
        """Whether nothing is there. What may not be looked at is not absent."""
        try:
            self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            pass
        return False

    def at_rest(self) -> bool:
        """No log beside the file and none could be made: only then may SQLite read without its locks."""
        return not os.access(self.file.parent, os.W_OK) and not self.log.exists()

    def _require_mount(self, file: Path) -> None:
        """Where the system tells what is mounted."""
        try:
            lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        except OSError:
            return
        point, kind = "", ""
        for line in lines:
            left, _, right = line.partition(" - ")
            mounted = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), left.split(" ")[4])
            inside = mounted == "/" or str(file) == mounted or str(file).startswith(f"{mounted}/")
            if inside and len(mounted) >= len(point):
                point, kind = mounted, right.split(" ")[0]
        if point == str(file):
            raise LedgerError(
                f"The ledger `{self.label}` is mounted as a single file, so that its log would not be beside "
                "the original. Mount its directory."
            )
        if kind in _SHARED and not (point == "/" and kind in _OWN_ROOTS):
            raise LedgerError(
                f"The ledger `{self.label}` lies on a share (`{kind}`), where machines do not see each "
                "other's spends. Use a local disk, or PostgreSQL for a team."
            )


def _filled(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def _holds(log: Path, text: str) -> bool:
    with log.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pages:
        return pages.find(text.encode()) >= 0
