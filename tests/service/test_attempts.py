"""Counts of failed attempts, on both kinds of database; what they come to is in `test_authenticate`."""

from __future__ import annotations

import pytest

from leakcap.service.store import Store, TooManyAttempts
from service.conftest import Hands

HERE = "192.0.2.7"


def test_five_are_free_then_one_waits_and_signing_in_clears_ones_own(store: Store, clock: Hands) -> None:
    for _ in range(5):
        store.attempts.begin("alice", HERE)
    store.attempts.succeed("alice", HERE)
    for _ in range(5):
        store.attempts.begin("alice", HERE)
    for wait in (1, 2, 4, 8):
        for _ in range(2):  # a refused attempt is not counted
            with pytest.raises(TooManyAttempts) as waiting:
                store.attempts.begin("alice", HERE)
            assert waiting.value.seconds == wait
        clock.pass_(seconds=wait)
        store.attempts.begin("alice", HERE)
    store.attempts.begin("bob", HERE)


def test_it_never_takes_longer_than_a_quarter_of_an_hour(store: Store, clock: Hands) -> None:
    waits = []
    for _ in range(30):
        try:
            store.attempts.begin("alice", HERE)
        except TooManyAttempts as error:
            waits.append(error.seconds)
            clock.pass_(seconds=error.seconds)
            store.attempts.begin("alice", HERE)
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (1, 900)
