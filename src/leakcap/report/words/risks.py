"""Games in words: how often they are won, and when their bound does not hold."""

from __future__ import annotations

from leakcap.statement.risks import GameRecord
from leakcap.statement.wording import at_most, percent

__all__ = ["game_exception", "game_success"]


def game_success(probability: float) -> str:
    """How often a game is won: never a hundred per cent without a word on it.

    >>> game_success(0.5), game_success(0.0040552), game_success(0.99999)
    ('50.00 %', '0.41 %', '100.00 %: no protection')
    """
    told = percent(probability)
    return f"{told}: no protection" if told.startswith("100") else told


def game_exception(game: GameRecord) -> str:
    """With what probability its bound may fail; empty where it never does."""
    if game.exception == 0.0:
        return ""
    return (
        f"{game.title.capitalize()}: but for a probability of {at_most(game.exception)}, with which δ lets "
        "more be believed."
    )
