"""No collections while a large answer is made, and the collector as it was before afterwards."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator

import numpy as np
import pyarrow
import pytest

from leakcap import uncollected as module
from leakcap.release import PrivateTable
from leakcap.uncollected import uncollected

GROUPS = 20_000


@pytest.fixture(autouse=True)
def collector_as_it_was() -> Iterator[None]:
    ran = gc.isenabled()
    yield
    (gc.enable if ran else gc.disable)()


def collections() -> int:
    return sum(generation["collections"] for generation in gc.get_stats())


def test_an_answer_of_many_groups_becomes_a_dictionary_without_collections() -> None:
    """Some 100,000 objects, for which there were over 200 collections."""
    data = pyarrow.table({"g": np.arange(GROUPS)})
    policy = {
        "dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
        "columns": {"g": {"keys": list(range(GROUPS))}},
    }  # fmt: skip
    release = PrivateTable(data, policy=policy, ledger="sqlite://").count(by="g", epsilon=1.0)
    gc.enable()
    before = collections()
    found = release.to_dict()
    assert collections() - before < 10
    assert [row["keys"]["g"] for row in found["values"]] == list(range(GROUPS))
    assert gc.isenabled()


@pytest.mark.parametrize("ran", [True, False])
def test_the_collector_is_left_as_it_was(ran: bool) -> None:
    (gc.enable if ran else gc.disable)()
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled() is ran
    with pytest.raises(KeyError), uncollected():
        raise KeyError
    assert gc.isenabled() is ran


@pytest.mark.parametrize("ran", [True, False])
@pytest.mark.parametrize("step", ["isenabled", "disable", "begin"])
def test_an_interrupt_on_the_way_into_a_block_leaves_the_collector_as_it_was(
    step: str, ran: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C comes as soon as a call has done its work, before the line after it."""
    (gc.enable if ran else gc.disable)()
    owner = module._PAUSE if step == "begin" else gc
    done, interrupts = getattr(owner, step), []

    def interrupted(*given: object) -> None:
        done(*given)
        interrupts.append(step)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, interrupted)
        with pytest.raises(KeyboardInterrupt), uncollected():
            pass
    assert interrupts == [step]
    assert gc.isenabled() is ran
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled() is ran


def test_of_several_threads_the_last_one_starts_it_again() -> None:
    gc.enable()
    first, done, second = threading.Event(), threading.Event(), threading.Event()

    def other() -> None:
        with uncollected():
            first.set()
            done.wait(10)
        second.set()

    thread = threading.Thread(target=other)
    thread.start()
    assert first.wait(10)
    with uncollected():
        done.set()
        assert second.wait(10)
        assert not gc.isenabled()
    thread.join(10)
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")
def test_a_process_forked_in_a_block_collects() -> None:
    gc.enable()
    with uncollected():
        child = os.fork()
        if child == 0:
            with uncollected():
                inside = gc.isenabled()
            os._exit(0 if gc.isenabled() and not inside else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
