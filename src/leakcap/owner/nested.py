"""Whether the keys of a column stand within those of another as the policy lists them."""

from __future__ import annotations

from collections.abc import Iterator

from leakcap.owner.asking import OwnerTable
from leakcap.owner.finding import DataFault, listed, shown
from leakcap.plain import counted
from leakcap.policy.document import Policy
from leakcap.policy.nested import key_word
from leakcap.policy.nesting import outer_columns
from leakcap.release.columns.derived import code_column, codes
from leakcap.release.columns.typed import OneOf

__all__ = ["check_paths"]

_LISTED = 5


def check_paths(table: OwnerTable, policy: Policy, prefix: str = "") -> Iterator[DataFault]:
    """Rows whose keys are listed each for itself and not together; no group by both columns counts them."""
    for name, known in policy.columns.items():
        if known.within is None or known.paths is None:
            continue
        columns = (*outer_columns(name, policy.columns), name)
        if not {one for column in columns for one in policy.stored_of([column])} <= set(table.types):
            continue  # said already
        trees = [code_column(one, policy) for one in columns]
        words = [codes(one, policy) for one in columns]
        kinds = [
            "integer" if all(type(code) is int for code in own) else policy.columns[one].kind
            for one, own in zip(columns, words, strict=True)
        ]
        tests = [
            OneOf(this=tree.copy(), keys=tuple(own), kind=kind)
            for tree, own, kind in zip(trees, words, kinds, strict=True)
        ]
        found = [
            (tuple(own[code] for own, code in zip(words, row, strict=True)), many)
            for row, many in table.together(trees, *tests)
        ]
        paths = set(known.paths)
        strange = sorted(((many, row) for row, many in found if row not in paths), key=lambda one: -one[0])
        if not strange:
            continue
        rows, bad = sum(many for _, many in found), sum(many for many, _ in strange)
        told = [
            f"{shown(key_word(row[-1]))} within {' > '.join(shown(key_word(one)) for one in row[:-1])} "
            f"({counted(many, 'row')})"
            for many, row in strange[:_LISTED]
        ]
        more = " and others" if len(strange) > _LISTED else ""
        have, them = ("has", "it") if bad == 1 else ("have", "them")
        yield DataFault(
            prefix + name,
            "problem",
            f"{bad:,} of {counted(rows, 'row')} with listed keys {have} keys that the policy does not list "
            f"together, and no group by {listed([f'`{prefix}{one}`' for one in columns])} counts {them}: "
            f"{listed(told)}{more}. Correct the data, or list what may publicly occur.",
        )
