"""Another table, as a policy declares it to be joined with."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from leakcap.policy.column_rules import check_names
from leakcap.policy.declared import Column
from leakcap.policy.resolving import check_not_derived, resolved
from leakcap.policy.validation import Strict

__all__ = ["JoinedTable"]


class JoinedTable(Strict):
    """Another table that rows may be joined with: a person's own, or a public one.

    With `id` the table belongs to the people of the policy's unit: its column `id` names them, and at most
    one of its rows is used for each. With `public = true` nobody is in it: its column `key` is met by the
    column `on` of the data, and at most one of its rows is used for each key.

    >>> JoinedTable(id="person_id", columns={"sex": Column(keys=("f", "m"))}).key_column
    'person_id'
    """

    id: str | None = Field(default=None, min_length=1)
    public: bool = False
    key: str | None = Field(default=None, min_length=1)
    on: str | None = Field(default=None, min_length=1)
    columns: Annotated[dict[str, Column], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.public and (self.id is not None or self.key is None or self.on is None):
            raise ValueError("a public table needs `key` and `on`, and no `id`")
        if not self.public and (self.id is None or (self.key, self.on) != (None, None)):
            raise ValueError("a table needs the `id` of its people, or `public = true` with `key` and `on`")
        check_names([*self.columns, *({self.key_column} - set(self.columns))])
        object.__setattr__(self, "columns", resolved(self.columns))
        check_not_derived(self.columns, {f"`{'id' if self.id else 'key'}`": self.key_column})
        return self

    @property
    def stored(self) -> dict[str, Column]:
        """The columns that the table has; derived ones follow from them."""
        return {name: column for name, column in self.columns.items() if column.stored}

    @property
    def key_column(self) -> str:
        """The column of the table by which its rows are met."""
        return self.id or self.key or ""
