"""What each role may do: every role times every action, written here a second time, and nothing beside it."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime

import pytest

from leakcap.service.authorization import (
    ANYONE,
    MATRIX,
    NEVER_BY_AGENTS,
    NEVER_BY_TOKENS,
    SCOPES,
    Action,
    datasets_of,
    permitted,
    require,
    require_job,
    roles_on,
)
from leakcap.service.identity import Principal
from leakcap.service.store import EVERYWHERE, Forbidden, Grant, NotFound, Role, TokenScope

TIME = datetime(2026, 11, 27, 9, tzinfo=UTC)
ALICE = Principal("local:alice", "local")

# One letter a role: owner, analyst, approver (p), auditor (u), admin (d). Written from the contract, by hand.
WANTED = """
see the public policy                o a p u .
see the budget                       o a p u .
preview                              o a . . .
ask for a release                    . a . . .
fit a model                          . a . . .
make a synthetic file                . a . . .
ask for tables                       . a . . .
see the statement on own answers     . a . . .
see the statement on all answers     o . p u .
see own jobs                         . a . . .
cancel an own job                    . a . . .
see jobs of others                   o . p . .
see what awaits approval             . . p . .
approve or refuse                    . . p . .
see the ledger                       o . . u .
verify the ledger                    o . . u .
export the ledger                    o . . u .
take an anchor                       o . . u .
certify the ledger                   o . . u .
pause a data set                     o . . . .
resume a data set                    o . . . .
amend the policy                     o . . . .
see roles                            o . . . d
give a role                          o . . . d
take a role                          o . . . d
see people                           . . . . d
add a person                         . . . . d
remove a person                      . . . . d
set another's password               . . . . d
register or withdraw a certificate   . . . . d
confirm what another one asks        . . . . d
see administrative acts              o . . u d
"""
ROWS = {line[:37].strip(): line[37:].split() for line in WANTED.strip().splitlines()}
WIDE = {
    "see people",
    "add a person",
    "remove a person",
    "set another's password",
    "register or withdraw a certificate",
    "confirm what another one asks",
}


def grant(role: Role, dataset: str = "ward", subject: str = "local:alice") -> Grant:
    return Grant(subject, EVERYWHERE if role is Role.ADMIN else dataset, role, "local:root", TIME)


def outcome(principal: Principal, grants: list[Grant], action: Action, dataset: str | None) -> str:
    try:
        require(principal, grants, action, dataset)
    except (Forbidden, NotFound) as error:
        return type(error).__name__
    return "allowed"


@pytest.mark.parametrize("role", Role)
def test_every_role_and_action(role: Role) -> None:
    """With one role on one data set: allowed as written, else forbidden, and not found without a role."""
    assert set(ROWS) == set(Action) - ANYONE
    column = list(Role).index(role)
    for action in Action:
        allowed = action in ANYONE or ROWS[action][column] != "."
        here = outcome(ALICE, [grant(role)], action, "ward")
        unseen = "NotFound" if role is Role.ADMIN and action not in WIDE else "Forbidden"
        assert here == ("allowed" if allowed else unseen), action
        elsewhere = outcome(ALICE, [grant(role)], action, "stays")
        if action in ANYONE or (role is Role.ADMIN and allowed):
            assert elsewhere == "allowed", action
        else:
            assert elsewhere == ("Forbidden" if action in WIDE else "NotFound"), action


def test_the_table_is_the_one_that_is_written_here() -> None:
    for action, letters in ROWS.items():
        wanted = {role for role, letter in zip(Role, letters, strict=True) if letter != "."}
        assert MATRIX[Action(action)] == wanted
    assert not set(MATRIX) & ANYONE


def test_without_a_role_nothing_but_oneself() -> None:
    for action, dataset in itertools.product(Action, (None, "ward", "", "no such")):
        assert permitted(ALICE, [], action, dataset) == (action in ANYONE), action


def test_every_set_of_roles_may_what_one_of_them_may() -> None:
    for number in range(len(Role) + 1):
        for roles in itertools.combinations(Role, number):
            grants = [grant(role) for role in roles]
            for action in MATRIX:
                assert permitted(ALICE, grants, action, "ward") == any(
                    permitted(ALICE, [one], action, "ward") for one in grants
                )


def test_a_data_set_that_is_not_there_says_what_one_without_a_role_says() -> None:
    said = set()
    for dataset in ("there", "gone!"):
        with pytest.raises(NotFound) as refused:
            require(ALICE, [grant(Role.ANALYST)], Action.RELEASE, dataset)
        said.add(str(refused.value).replace(dataset, "…"))
    assert len(said) == 1


def test_roles_of_somebody_else_are_not_ones_own() -> None:
    others = [grant(role, subject=name) for role in Role for name in ("local:al", "uni:alice", "local:Alice")]
    assert roles_on(ALICE, others, "ward") == frozenset()
    assert not any(permitted(ALICE, others, action, "ward") for action in MATRIX)


def test_a_data_set_is_its_whole_name() -> None:
    for dataset in ("war", "ward ", "Ward", "ward\u200b", "w\u0430rd", ""):
        assert outcome(ALICE, [grant(Role.ANALYST)], Action.RELEASE, dataset) == "NotFound"


def test_what_names_no_data_set_takes_a_role_on_the_curator() -> None:
    """An owner of one data set sees no acts of all, and gives nobody a role on the curator."""
    every = [grant(role) for role in Role if role is not Role.ADMIN]
    for dataset in (None, EVERYWHERE):
        assert not any(permitted(ALICE, every, action, dataset) for action in MATRIX)
    assert permitted(ALICE, [grant(Role.ADMIN)], Action.GIVE_ROLE)
    assert not permitted(ALICE, [grant(Role.ADMIN)], Action.RELEASE)


@pytest.mark.parametrize("scope", TokenScope)
def test_a_token_does_what_its_scopes_say(scope: TokenScope) -> None:
    narrow = Principal("local:alice", "local", frozenset({scope}), None, "t")
    grants = [grant(role) for role in Role]
    for action in Action:
        wanted = SCOPES[action] is scope and action not in NEVER_BY_TOKENS
        assert permitted(narrow, grants, action, "ward") == wanted, action
    none = Principal("local:alice", "local", frozenset(), None, "t")
    assert not any(permitted(none, grants, action, "ward") for action in Action)


def test_every_action_has_a_scope() -> None:
    assert set(SCOPES) == set(Action)
    assert {action for action in Action if SCOPES[action] is TokenScope.ASK} == {
        "ask for a release", "fit a model", "make a synthetic file", "ask for tables", "cancel an own job",
    }  # fmt: skip


def test_a_token_reaches_its_data_sets_alone() -> None:
    narrow = Principal("local:alice", "local", None, frozenset({"ward"}), "t")
    grants = [grant(Role.ANALYST), grant(Role.ANALYST, "stays"), grant(Role.ADMIN)]
    assert permitted(narrow, grants, Action.RELEASE, "ward")
    assert outcome(narrow, grants, Action.RELEASE, "stays") == "NotFound"
    assert datasets_of(narrow, grants) == ("ward",)
    assert datasets_of(ALICE, grants) == ("stays", "ward")
    assert datasets_of(ALICE, [grant(Role.ADMIN)]) == ()
    assert not permitted(narrow, grants, Action.SEE_PEOPLE)
    assert not permitted(narrow, grants, Action.GIVE_ROLE, "ward")
    other = Principal("local:alice", "local", None, frozenset({"elsewhere"}), "t")
    assert datasets_of(other, grants) == ()


def test_a_token_makes_no_other_and_an_agent_decides_nothing() -> None:
    grants = [grant(role) for role in Role]
    token = Principal("local:alice", "local", token="t")
    agent = Principal("local:alice", "local", agent=True)
    assert {one for one in Action if not permitted(token, grants, one, "ward")} == NEVER_BY_TOKENS
    assert {one for one in Action if not permitted(agent, grants, one, "ward")} == NEVER_BY_AGENTS
    with pytest.raises(Forbidden, match=r"To issue a token, sign in\. A token cannot"):
        require(token, grants, Action.ISSUE_TOKEN)
    with pytest.raises(Forbidden, match=r"To approve or refuse takes a person\. An agent cannot"):
        require(agent, grants, Action.DECIDE, "ward")


JOBS = [  # role, whose job, on which data set: may it be seen, and cancelled
    (Role.ANALYST, "local:alice", "ward", True, True),
    (Role.ANALYST, "local:bob", "ward", False, False),
    (Role.ANALYST, "local:alice", "stays", False, False),
    (Role.OWNER, "local:bob", "ward", True, False),
    (Role.OWNER, "local:alice", "ward", True, False),
    (Role.APPROVER, "local:bob", "ward", True, False),
    (Role.APPROVER, "local:bob", "stays", False, False),
    (Role.AUDITOR, "local:bob", "ward", False, False),
    (Role.ADMIN, "local:bob", "ward", False, False),
    (Role.ADMIN, "local:alice", "ward", False, False),
]


@pytest.mark.parametrize(("role", "asker", "dataset", "seen", "cancelled"), JOBS)
def test_a_job_is_its_askers_or_seen_by_who_looks_after_the_data(
    role: Role, asker: str, dataset: str, seen: bool, cancelled: bool
) -> None:
    for action, wanted in ((Action.SEE_OWN_JOBS, seen), (Action.CANCEL_OWN_JOB, cancelled)):
        if wanted:
            require_job(ALICE, [grant(role)], asker, dataset, action)
            continue
        with pytest.raises(NotFound, match=r"^There is no such job\.$"):
            require_job(ALICE, [grant(role)], asker, dataset, action)


def test_no_role_but_the_administrators_reaches_every_data_set() -> None:
    """Such a row cannot be given; were it there nevertheless, it would count for nothing."""
    odd = [Grant("local:alice", EVERYWHERE, role, "local:root", TIME) for role in Role if role != "admin"]
    assert not any(
        permitted(ALICE, odd, action, dataset) for action in MATRIX for dataset in ("ward", "", None)
    )
    odd = [Grant("local:alice", "ward", Role.ADMIN, "local:root", TIME)]
    assert not any(permitted(ALICE, odd, action, dataset) for action in MATRIX for dataset in ("ward", None))


def test_a_token_without_the_scope_is_told_so_of_ones_own_job() -> None:
    reads = Principal("local:alice", "local", frozenset({TokenScope.READ}), None, "t")
    require_job(reads, [grant(Role.ANALYST)], "local:alice", "ward")
    with pytest.raises(Forbidden, match="lacks the scope `ask`"):
        require_job(reads, [grant(Role.ANALYST)], "local:alice", "ward", Action.CANCEL_OWN_JOB)


def test_a_planted_hole_in_the_table_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = {**MATRIX, Action.RELEASE: MATRIX[Action.RELEASE] | {Role.AUDITOR}}
    monkeypatch.setattr("leakcap.service.authorization.MATRIX", planted)
    with pytest.raises(AssertionError):
        test_every_role_and_action(Role.AUDITOR)
