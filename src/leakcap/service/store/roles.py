"""The roles that a person may have on a data set, or on the whole curator."""

from __future__ import annotations

from enum import StrEnum

from leakcap.errors import require

__all__ = ["EVERYWHERE", "Role", "named_role", "require_role_fits"]

EVERYWHERE = ""
"""The data set of a role that holds for the whole curator."""


class Role(StrEnum):
    """What a person is to a data set; `ADMIN` is one to the curator: people and roles, and no answers."""

    OWNER = "owner"
    ANALYST = "analyst"
    APPROVER = "approver"
    AUDITOR = "auditor"
    ADMIN = "admin"


def named_role(role: str) -> Role:
    """The role of this name. Raises `InvalidParameter` for a name that is none.

    >>> named_role("analyst").name
    'ANALYST'
    """
    require(role in set(Role), "role", "grant", f"be one of {', '.join(Role)}", role)
    return Role(role)


def require_role_fits(role: Role, dataset: str) -> None:
    """Raise `InvalidParameter` for an administrator of one data set, or another role on all of them.

    >>> require_role_fits(Role.ANALYST, "ward")
    >>> require_role_fits(Role.ADMIN, "ward")
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `dataset` of `grant` must be left out for `admin`, and be named for ...
    """
    rule = "be left out for `admin`, and be named for every other role"
    require((role is Role.ADMIN) == (dataset == EVERYWHERE), "dataset", "grant", rule, dataset)
