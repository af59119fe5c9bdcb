"""The running sums, made from spends one by one, and made anew where a policy is amended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from leakcap.errors import LedgerError
from leakcap.ledger.continuing import ChargeTerms, counts_now, document_of, require_continuing, terms_of
from leakcap.ledger.people import SCOPE, Levels
from leakcap.ledger.rules import GROUP, CapsInTicks
from leakcap.ledger.sharing import require_sharing
from leakcap.ledger.slots import SlotPlan, SlotUse
from leakcap.ledger.ticks import NOTHING, Ticks, decimal, total

__all__ = ["Regime", "RunningSums", "documents_of", "terms_of_all"]

_COLUMN = 2**63 - 1


@dataclass(frozen=True)
class Regime:
    """A policy, by its fingerprint, and its caps, from one row of the chain to the next amendment."""

    policy: str
    rules: CapsInTicks


@dataclass
class RunningSums:
    """What was spent on every account, in the terms of the policy that governs now."""

    regimes: list[Regime] = field(default_factory=list)
    spent: Ticks = NOTHING
    accounts: dict[tuple[str, str], Ticks] = field(default_factory=dict)
    spends: list[tuple[str, str, Ticks, int, int | None, str, str]] = field(default_factory=list)
    """Of each its analyst, time, what was charged, in which regime, from which level of people's own caps
    on it counted people, from which slot of a plan it was answered, and its reference period."""
    plans: list[tuple[Ticks, int]] = field(default_factory=list)
    """What each plan, and all that was lost in a restoration, was charged, and in which regime."""
    slots: dict[str, SlotUse] = field(default_factory=dict)
    admitted: dict[str, list[str]] = field(default_factory=dict)
    """Of each data set beside the ledger's own its policies, the present one last."""
    lost: bool = False
    """Whether spends are booked that a restored ledger lacks."""
    repeats: dict[tuple[str, int], int] = field(default_factory=dict)
    """Who was told the answer of which entry for free, and in which regime first."""

    def begin(self, regime: Regime) -> None:
        """The first policy."""
        self.regimes.append(regime)

    def spend(
        self,
        analyst: str,
        time: str,
        ticks: Ticks,
        floor: int | None = None,
        slot: str = "",
        reference: str = "",
    ) -> None:
        """One more spend under the present policy."""
        self.spends.append((analyst, time, ticks, len(self.regimes) - 1, floor, slot, reference))
        self._book(analyst, time, ticks, len(self.regimes) - 1, floor, slot, reference)
        if slot:
            self.slots[slot] = replace(self.slots[slot], used=self.slots[slot].used + 1)

    def plan(self, plan: SlotPlan, ticks: Ticks) -> None:
        """One more plan, paid for under the present policy."""
        self.plans.append((ticks, len(self.regimes) - 1))
        self.slots |= {one.name: SlotUse(plan.name, one, 0) for one in plan.slots}
        self.spent = total([self.spent, ticks])

    def lose(self, ticks: Ticks, time: str) -> None:
        """Spends that the ledger lacks since it was restored, all of them together; their numbers stay
        theirs."""
        when, self.lost = len(self.regimes) - 1, True
        self.plans.append((ticks, when))
        self.spends += [("", time, NOTHING, when, None, "", "")] * (ticks.queries or 0)
        self.spent = total([self.spent, ticks])

    def floor(self, ticks: Ticks) -> int | None:
        """From which level of people's own caps on a spend counts people; None where people have none, or
        where no level has room."""
        spent = {level: self.accounts.get((SCOPE, decimal(level)), NOTHING) for level in self.levels}
        return Levels(self.levels, spent).floor(ticks)

    @property
    def levels(self) -> tuple[int, ...]:
        """The levels of people's own caps."""
        return self.regimes[-1].rules.each_person

    def admit(self, dataset: str, policy: str, texts: Mapping[str, str]) -> None:
        """Another data set about the same people, or another policy of one that was admitted before. Raises
        `LedgerError` where it may not pay from this ledger."""
        own = self.admitted.get(dataset, [])
        beside = [one for name, one in self.admitted.items() if name != dataset]
        others = [[one.policy for one in self.regimes], *beside]
        *found, new = ([*documents_of(one, texts)] for one in (*others, [*own, policy]))
        require_sharing(found, new[:-1], new[-1])
        self.admitted[dataset] = [*own, policy]

    def repeat(self, analyst: str, entry: int) -> None:
        """An answer of before left once more. It is on the account of whoever paid, as long as the same
        policy governs: where analysts have accounts, none is told what another paid for."""
        self.repeats.setdefault((analyst, entry), len(self.regimes) - 1)

    def amend(self, regime: Regime, texts: Mapping[str, str]) -> None:
        """Another policy from here on: every spend of before is counted again, on its terms, and on the
        account of every analyst who was told its answer.

        Raises `LedgerError` where the policy may not continue one of the earlier ones.
        """
        documents = documents_of([*(one.policy for one in self.regimes), regime.policy], texts)
        require_continuing(documents[:-1], documents[-1])
        require_sharing([documents_of(one, texts) for one in self.admitted.values()], [], documents[-1])
        self._require_no_new_accounts(regime.rules)
        self.regimes.append(regime)
        terms = terms_of_all(self.regimes, texts)
        self.spent, self.accounts = NOTHING, {}
        for ticks, when in self.plans:
            self.spent = total([self.spent, counts_now(ticks, terms[when], terms[-1])])
        for analyst, time, ticks, when, floor, slot, reference in self.spends:
            counted = counts_now(ticks, terms[when], terms[-1])
            self._book(analyst, time, counted, when, floor, slot, reference)
        self._book_repeats(terms)
        if any(amount is not None and amount > _COLUMN for amount in self.spent.numbers):
            raise LedgerError("What was spent before is too large to be counted under the new policy.")

    def _book_repeats(self, terms: Sequence[ChargeTerms]) -> None:
        """What was told for free, on the account of whoever was told it, and of every group that had not paid
        for it, and that one of its members, of now or of before, was told."""
        rules, told = self.regimes[-1].rules, set[tuple[str, int]]()
        for (analyst, entry), since in self.repeats.items():
            payer, _, ticks, when, *_ = self.spends[entry - 1]
            counted = counts_now(ticks, terms[when], terms[-1])
            if analyst != payer and rules.of_analyst(analyst) is not None:
                self._add(("analyst", analyst), counted)
            told |= {(group, entry) for group in self._groups(analyst, since) - self._groups(payer, when)}
        for group, entry in told:
            _, _, ticks, when, *_ = self.spends[entry - 1]
            self._add((GROUP, group), counts_now(ticks, terms[when], terms[-1]))

    def _groups(self, analyst: str, since: int) -> set[str]:
        """The groups of now on whose accounts stands what an analyst was told in a regime: those that he was
        in then, or has been in at any time since. Whoever leaves one takes nothing back out of it."""
        known = (one.rules.groups_of(analyst) for one in self.regimes[since:])
        return set().union(*known) & self.regimes[-1].rules.groups.keys()

    def _require_no_new_accounts(self, rules: CapsInTicks) -> None:
        """What was lost is on nobody's account: one that begins now would give it back."""
        if self.lost and (rules.by_analyst or rules.period is not None):
            raise LedgerError(
                "`caps` may not begin to count analysts or periods: the ledger was restored without all of "
                "its spends, and whose those were, and of when, is not known. Keep caps on everything alone."
            )

    def _book(
        self,
        analyst: str,
        time: str,
        ticks: Ticks,
        when: int,
        floor: int | None,
        slot: str,
        reference: str,
    ) -> None:
        rules = self.regimes[-1].rules
        self.spent = total([self.spent, ticks.on_everything(slot)])
        for place in rules.places(analyst, time, reference):
            self._add(place, ticks)
        for group in self._groups(analyst, when) if rules.groups else ():
            self._add((GROUP, group), ticks)
        for level in rules.each_person:
            counted_here = floor is not None and level >= floor
            self._add((SCOPE, decimal(level)), ticks if counted_here else NOTHING)

    def _add(self, place: tuple[str, str], ticks: Ticks) -> None:
        self.accounts[place] = total([self.accounts.get(place, NOTHING), ticks])


def documents_of(policies: Sequence[str], texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """The public texts of policies, read. Raises `LedgerError` for one that the ledger has not, or not as it
    was."""
    documents = []
    for policy in policies:
        document = document_of(texts.get(policy, ""), policy)
        if document is None:
            raise LedgerError(
                f"The ledger has no text of policy {policy[:12]}, or an edited one. Restore it from a backup."
            )
        documents.append(document)
    return documents


def terms_of_all(regimes: Sequence[Regime], texts: Mapping[str, str]) -> list[ChargeTerms]:
    """The terms of each regime."""
    documents = documents_of([regime.policy for regime in regimes], texts)
    return [terms_of(d, regime.rules.alpha) for d, regime in zip(documents, regimes, strict=True)]
