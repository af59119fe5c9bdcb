"""FROM of a SELECT statement: the data, the declared tables that it is joined with, and subqueries of rows.

    FROM visits AS v JOIN people AS p ON v.person_id = p.person_id
    FROM (SELECT ward AS w, stay FROM visits WHERE stay > 1) AS s

A subquery, or a table of WITH, chooses rows and columns, no more: it is read into the statement around it, so
that what is planned is one map of rows. Whatever would count, order or cut rows before that is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.columns.joins import joined_policy
from leakcap.release.conditions.condition import Condition
from leakcap.release.conditions.declared import with_cases
from leakcap.release.conditions.whitelist import check_words
from leakcap.release.conditions.written import WrittenColumns
from leakcap.release.sql.joins import (
    BETWEEN,
    called_in,
    check_kind,
    check_other,
    leftmost,
    listed_names,
    on_words,
)
from leakcap.release.sql.scope import Scope, both_conditions, is_key
from leakcap.release.sql.words import CONDITION, ENDS, SelectPart, Spelled, Words

__all__ = ["Tables", "listed_words"]

_RULE = "A subquery only chooses rows and columns: SELECT … FROM … WHERE …. Do the rest outside it."


def listed_words(lists: Collection[Collection[Spelled]]) -> list[Spelled]:
    """The words of a list, with commas between."""
    return [word for place, words in enumerate(lists) for word in (("COMMA", *words) if place else words)]


@dataclass
class Tables:
    """What FROM may name: the data by its `known` names, tables of the `policy`, and those of WITH."""

    words: Words
    policy: Policy
    known: Collection[str]
    written: WrittenColumns
    named: dict[str, Scope] = field(default_factory=dict)

    def outermost(self) -> tuple[SelectPart, list[Spelled]]:
        """The SELECT that is answered, behind the tables of WITH, and the words of these."""
        words, tree = self.words, self.words.tree
        clause = tree.args.get("with_") or tree.args.get("with")
        if clause is None:
            return SelectPart(tree, 0), []
        lists: list[list[Spelled]] = []
        at = 1
        for one in words.only(clause, exp.With).expressions:
            words.only(one, exp.CTE)
            name = words.alias(words.only(one.args["alias"], exp.TableAlias).this)
            if words.kind(at + 2) != "L_PAREN" or words.kind(at + 3) != "SELECT":
                raise words.refusal(f"`{name.name}` is no subquery of rows", words.place(at), _RULE)
            scope = self._rows(one.this, at + 3)
            if name.name in self.named:
                raise words.refusal(f"two tables are called `{name.name}`", words.place(at))
            self.named[name.name] = scope
            lists.append([name, "ALIAS", "L_PAREN", *scope.spelled, "R_PAREN"])
            at = words.find((), at + 3, 1) + 2
        return SelectPart(tree, at - 1), ["WITH", *listed_words(lists)]

    def scope(self, part: SelectPart) -> Scope:
        """The tables after FROM. Raises `InvalidQuery` that says what is refused, and where."""
        words, tree = self.words, part.tree
        found = tree.args.get("from_") or tree.args.get("from")
        if found is None:
            raise words.unexpected(words.find(("WHERE", *ENDS), part.at, part.depth), "FROM")
        at = words.find(("FROM",), part.at, part.depth)
        node = words.only(found, exp.From).this
        joins = tree.args.get("joins") or ()
        inner = self._subquery(node, at + 1)
        if inner is not None:
            if joins:
                start = words.place(words.find(BETWEEN, words.find((), at + 2, part.depth + 1), part.depth))
                raise words.refusal("a subquery may not be joined", start, "Join the tables inside it.")
            return inner
        return self._data(part, node, at)

    def _subquery(self, node: exp.Expression, at: int) -> Scope | None:
        """What a subquery, or a table of WITH, shows of the rows; None of anything else."""
        words = self.words
        if isinstance(node, exp.Subquery) and words.kind(at) == "L_PAREN" and words.kind(at + 1) == "SELECT":
            words.only(node, exp.Subquery)
            scope = self._rows(node.this, at + 1)
            alias = node.args.get("alias")
            if alias is None:
                return replace(scope, data="", spelled=("FROM", "L_PAREN", *scope.spelled, "R_PAREN"))
            name = words.alias(words.only(alias, exp.TableAlias).this)
            spelled = ("FROM", "L_PAREN", *scope.spelled, "R_PAREN", "ALIAS?", name)
            return replace(scope, data=name.name, spelled=spelled)
        if not isinstance(node, exp.Table) or node.name not in self.named or node.args.get("db"):
            return None
        called, spelled_name = called_in(words, node, leftmost(words, node, at))
        return replace(self.named[node.name], data=called, spelled=("FROM", *spelled_name))

    def _rows(self, tree: exp.Expression, at: int) -> Scope:
        """What a subquery shows of the rows, and its words. Raises `InvalidQuery` for more than that."""
        words = self.words
        part = SelectPart(self._plain(tree, at), at, words.depth(at))
        scope = self.scope(part)
        condition, filtered = self.condition(part, scope)
        names, lists = self._columns(part, scope)
        return replace(
            scope,
            joined={},
            names=names,
            condition=both_conditions(scope.condition, condition),
            spelled=("SELECT", *listed_words(lists), *scope.spelled, *filtered),
        )

    def _plain(self, tree: exp.Expression, at: int) -> exp.Select:
        """The SELECT, which must have no clause that makes anything else of rows."""
        words = self.words
        if type(tree) is exp.Select:
            late = words.find((*ENDS, "WITH"), at, words.depth(at))
            if words.kind(late) in (*ENDS, "WITH") and words.kind(late) != "SEMICOLON":
                raise words.refusal(
                    f"{words.found(late)} is not supported in a subquery", words.place(late), _RULE
                )
            return words.only(tree, exp.Select)
        raise words.refusal("this is no subquery of rows", words.place(at), _RULE)

    def _columns(
        self, part: SelectPart, scope: Scope
    ) -> tuple[Mapping[str, str] | None, list[list[Spelled]]]:
        """By which names the columns are seen from outside; None where by their own."""
        words, nodes = self.words, part.tree.expressions
        if len(nodes) == 1 and type(nodes[0]) is exp.Star:
            words.only(nodes[0], exp.Star)
            if scope.joined:
                start = words.place(part.at + 1)
                raise words.refusal("* beside a JOIN is not supported", start, "Name the columns.")
            return scope.names, [["STAR"]]
        names: dict[str, str] = {}
        lists: list[list[Spelled]] = []
        at = part.at
        for node in nodes:
            alias: exp.Identifier | None = None
            if isinstance(node, exp.Alias):
                alias = words.alias(words.only(node, exp.Alias).args["alias"])
                node = node.this
            start = words.place(at + 1)
            if not is_key(node):
                called = words.word(start)
                raise words.refusal(f"{called} is not supported in a subquery", start, _RULE)
            name, spelled = self._column(node, scope)
            if alias is None and not isinstance(node, exp.Column):
                raise words.refusal("a column of a subquery needs a name", start, "Add AS and one.")
            shown = node.name if alias is None else alias.name
            if shown in names:
                raise words.refusal(f"two columns of the subquery are called `{shown}`", start)
            names[shown] = name
            lists.append([*spelled, *([] if alias is None else ("ALIAS?", alias))])
            at = words.find(("COMMA",), at + 1, part.depth)
        return names, lists

    def _column(self, node: exp.Expression, scope: Scope) -> tuple[str, list[Spelled]]:
        """A key, or the id of the unit, which is no column but can be counted."""
        if isinstance(node, exp.Column):
            name, _, spelled = scope.reference(node)
            if name == self.policy.id_column:
                return name, spelled
        return scope.key(node)

    def condition(self, part: SelectPart, scope: Scope) -> tuple[Condition | None, list[Spelled]]:
        """What WHERE says, and its words."""
        where, words = part.tree.args.get("where"), self.words
        if where is None:
            return None, []
        node = words.only(where, exp.Where).this
        first = words.find(("WHERE",), part.at, part.depth) + 1
        resolved = scope.resolved(node)
        try:
            found = self.written.condition(resolved)
            check_words(node, words.condition(first))
        except InvalidQuery as error:
            raise words.refusal(str(error).rstrip("."), error.start or words.place(first)) from None
        return found, ["WHERE", CONDITION]

    def _data(self, part: SelectPart, node: exp.Expression, at: int) -> Scope:
        """The data itself, and the tables that it is joined with."""
        words, policy, known = self.words, self.policy, self.known
        first = leftmost(words, node, at + 1)
        name, start = first.name, words.start_of(first)
        self._check_unnamed(first)
        if name in policy.tables:
            here = listed_names(known)
            remedy = f"It starts with the data, here called {here}: a row of `{name}` may meet many of it."
            raise words.refusal(f"FROM starts with `{name}`", start, remedy)
        if name not in known:
            remedy = f"Here the table is called {listed_names(known)}."
            raise words.refusal(f"`{name}` is not the table", start, remedy)
        data, named = called_in(words, node, first)
        spelled: list[Spelled] = ["FROM", *named]
        joined: dict[str, str] = {}
        for join in part.tree.args.get("joins") or ():
            at = words.find(BETWEEN, at + 1, part.depth)
            if not policy.tables:
                raise words.unexpected(at)
            at = check_kind(words, join, at)
            first = leftmost(words, join.this, at + 1)
            self._check_unnamed(first)
            check_other(words, policy, known, joined, first)
            alias, called = called_in(words, join.this, first)
            if alias == data or alias in joined:
                raise words.refusal(f"two tables are called `{alias}`", words.start_of(first))
            joined[alias] = first.name
            spelled += [
                "INNER?",
                "JOIN",
                *called,
                "ON",
                *on_words(words, join, policy, data, alias, first.name),
            ]
        tables = tuple(joined.values())
        self.written.policy = with_cases(joined_policy(self.written.policy, tables))
        return Scope(words, data, self.written, joined, tuple(spelled), tables)

    def _check_unnamed(self, table: exp.Identifier) -> None:
        """Raise where SQL could take this for a table of WITH: the rows that it leaves out would be read.

        Another database than ours reads names in either case.
        """
        for name in self.named:
            if name.lower() == table.name.lower():
                at, same = self.words.start_of(table), name == table.name
                what = "which may not be joined" if same else f"which is written `{name}`"
                remedy = "Call the table of WITH something else."
                raise self.words.refusal(f"`{table.name}` is a table of WITH, {what}", at, remedy)
