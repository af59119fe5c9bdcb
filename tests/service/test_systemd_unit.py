"""The example of a systemd unit keeps the curator in its box."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[2] / "examples/curator/leakcap-curator.service"
NEEDED = {
    "CapabilityBoundingSet": "",
    "LimitCORE": "0",
    "MemorySwapMax": "0",
    "NoNewPrivileges": "yes",
    "PrivateDevices": "yes",
    "PrivateTmp": "yes",
    "ProtectHome": "yes",
    "ProtectKernelTunables": "yes",
    "ProtectProc": "invisible",
    "ProtectSystem": "strict",
    "RestrictNamespaces": "yes",
    "RestrictSUIDSGID": "yes",
    "StateDirectoryMode": "0700",
    "UMask": "0077",
    "IPAddressDeny": "any",
    "IPAddressAllow": "localhost",
    "RestrictAddressFamilies": "AF_UNIX AF_INET AF_INET6",
    "Restart": "always",
}


def directives() -> list[tuple[str, str]]:
    lines = UNIT.read_text(encoding="utf-8").splitlines()
    return [(name, value) for name, equals, value in (line.partition("=") for line in lines) if equals]


def test_directives() -> None:
    found = dict(directives())
    assert {name: found.get(name) for name in NEEDED} == NEEDED
    assert "ReadWritePaths" not in found
    assert found["User"] != "root"
    assert ("SystemCallFilter", "~@privileged") in directives()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze here")
def test_exposure_as_systemd_weighs_it(tmp_path: Path) -> None:
    """2 of 10 at most; without its sandbox the same unit is above 8."""
    assert exposure(UNIT) <= 2.0
    bare = [line for line in UNIT.read_text().splitlines() if line.startswith(("[", "ExecStart=", "User"))]
    open_ = tmp_path / UNIT.name
    open_.write_text("\n".join(bare) + "\n")
    assert exposure(open_) > 8.0


def exposure(unit: Path) -> float:
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    found = re.search(r"exposure level for \S+: ([0-9.]+)", done.stdout)
    if found is None:
        pytest.skip("this systemd-analyze weighs no file")
    return float(found[1])
