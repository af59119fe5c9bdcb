"""The table of what each role may do, in `docs/curator-identity.md`: `python manual/roles.py` writes it anew."""

from __future__ import annotations

from pathlib import Path

from leakcap.service.authorization import (
    ANYONE,
    MATRIX,
    NEVER_BY_AGENTS,
    NEVER_BY_TOKENS,
    SCOPES,
    Action,
)
from leakcap.service.store import Role

PAGE = Path(__file__).parents[1] / "docs" / "curator-identity.md"
BEGIN, END = "<!-- roles: python manual/roles.py -->\n\n", "\n\n<!-- /roles -->"


def table() -> str:
    """Actions by roles, with the scope that a token needs for each."""
    lines = [
        f"| may … | {' | '.join(Role)} | scope | not by |",
        f"|---|{'---|' * len(Role)}---|---|",
    ]
    for action in Action:
        marks = ["yes" if action in ANYONE or role in MATRIX[action] else "" for role in Role]
        barred = [
            name
            for name, never in (("token", NEVER_BY_TOKENS), ("agent", NEVER_BY_AGENTS))
            if action in never
        ]
        lines.append(f"| {action} | {' | '.join(marks)} | `{SCOPES[action]}` | {', '.join(barred)} |")
    return "\n".join(lines)


def page_with_table(text: str) -> str:
    """The page with its table as it is now."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
