"""What an impact assessment asks, on a page: each risk as a game with its bound."""

from __future__ import annotations

from collections.abc import Sequence

from leakcap.policy.document import Policy
from leakcap.report.render.document import Block, Items, Note, NotedNumber, Paragraph, Section, TextTable
from leakcap.report.words.risks import game_exception, game_success
from leakcap.statement.risks import GameRecord, ProvenRecord, games_of, games_of_one

__all__ = ["games_section", "require_sound_games"]


def games_section(
    games: Sequence[GameRecord], title: str, head: str, closing: str, caveat: str = ""
) -> Section:
    """The games with their bounds, which stand below `head`, how each is played, and what the bounds are;
    `caveat` stands above them."""
    rows = tuple(
        (
            game.risk,
            game.title,
            game_success(game.blind),
            NotedNumber(game_success(game.success), Note(game.formula, game.source)),
        )
        for game in games
    )
    heads = ("risk", "what the attacker tries", "works without it", head)
    blocks: list[Block] = [*([Paragraph(caveat)] if caveat else []), TextTable(heads, rows, (2, 3))]
    if rest := tuple(told for told in map(game_exception, games) if told):
        blocks.append(Items(rest, caution=True))
    blocks.append(TextTable(("the game", "how it is played"), tuple((g.title, g.game) for g in games)))
    return Section(title, (*blocks, Paragraph(closing, soft=True)))


def require_sound_games(
    games: Sequence[GameRecord],
    proven: Sequence[ProvenRecord],
    policy: Policy,
    nats: float,
    *,
    one: bool = False,
    exact_totals: bool = False,
) -> None:
    """Raise `ValueError` where a game's numbers do not follow from the bounds that the record has; `one` says
    that they are about one publication, `exact_totals` that totals are exact beside the noise."""
    facts = (proven, policy.neighbours, policy.units, nats)
    again = (games_of_one(*facts) if one else games_of(*facts, exact_totals=exact_totals)) if proven else ()
    if list(map(_numbers, again)) != list(map(_numbers, games)):
        raise ValueError("its games do not follow from its bounds")


def _numbers(game: GameRecord) -> tuple[str, float, float, float]:
    return game.key, game.blind, game.success, game.exception
