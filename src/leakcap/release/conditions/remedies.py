"""What to write in the place of a word of SQL that is not read."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from leakcap.errors import InvalidQuery

__all__ = ["ALLOWED", "REMEDIES", "not_allowed", "remedy_for"]

ALLOWED = "Allowed are comparisons of columns with literals, IN, BETWEEN, IS NULL, AND, OR and NOT."
"""What a condition may have."""

_GROUPS = "Compare the text as it is stored, or ask the owner for a column with `groups`."
_WINDOW = "It looks at other rows. ORDER BY and LIMIT are about the answer."
_BINS = (
    "Group by a column with `cuts`, or by FLOOR(x / 10) * 10; compare by <, >= or BETWEEN. In an aggregate "
    "leave it out: values are added up on a fine grid."
)
_LARGEST = "One row decides it. Ask for PERCENTILE_CONT(0.99) WITHIN GROUP (ORDER BY x)."
_LISTED = "It shows rows. Ask for COUNT(*) with GROUP BY."
_SAMPLE = "It divides by n - 1, which is not public."
_CHOOSE = (
    "What it makes of NULL differs from database to database. Write CASE WHEN x > 10 THEN 10 ELSE x END."
)
_TYPE = "Leave it out: the policy says what a column is, by its `bounds` or `keys`."

REMEDIES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "LIKE",
            "ILIKE",
            "REGEXPLIKE",
            "REGEXP_LIKE",
            "REGEXPFULLMATCH",
            "SIMILARTO",
            "GLOB",
            "STARTSWITH",
            "STARTS_WITH",
        ),
        "List the texts by IN, or ask the owner for a column with a `prefix`.",
    ),
    **dict.fromkeys(("UPPER", "LOWER", "TRIM", "LENGTH", "REPLACE", "CONCAT", "DPIPE", "||"), _GROUPS),
    **dict.fromkeys(
        ("SUBSTRING", "SUBSTR", "LEFT"), "Ask the owner for a column with a `prefix`, or with `groups`."
    ),
    **dict.fromkeys(("ROUND", "FLOOR", "CEIL", "TRUNC", "WIDTH_BUCKET"), _BINS),
    **dict.fromkeys(("LEAST", "GREATEST"), _CHOOSE),
    **dict.fromkeys(("CAST", "TRYCAST", "TRY_CAST"), _TYPE),
    **dict.fromkeys(("STDDEV", "STDDEV_SAMP", "STDDEVSAMP"), f"{_SAMPLE} Ask for STDDEV_POP."),
    **dict.fromkeys(("VARIANCE", "VAR_SAMP"), f"{_SAMPLE} Ask for VAR_POP."),
    "COVAR_SAMP": f"{_SAMPLE} Ask for COVAR_POP.",
    **dict.fromkeys(
        ("QUANTILE_CONT", "QUANTILE", "QUANTILE_DISC", "APPROX_QUANTILE", "PERCENTILE_DISC"),
        "Write PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x).",
    ),
    **dict.fromkeys(("MAX", "MIN", "ARG_MAX", "ARG_MIN"), _LARGEST),
    **dict.fromkeys(("ANY_VALUE", "FIRST", "LAST", "LIST", "ARRAY_AGG", "STRING_AGG"), _LISTED),
    **dict.fromkeys(("COUNT_IF", "COUNTIF"), "Write COUNT(*) FILTER (WHERE …)."),
    "ALL": "Leave it out. After GROUP BY name the columns.",
    "MODE": "Ask for COUNT(*) with GROUP BY … ORDER BY 2 DESC LIMIT 1.",
    **dict.fromkeys(("OVER", "QUALIFY", "ROW_NUMBER", "RANK", "LAG", "LEAD", "WINDOW"), _WINDOW),
    "COALESCE": "For COALESCE(x, 0) = 0 write x = 0 OR x IS NULL.",
    "NULLIF": "For NULLIF(x, 0) > 1 write x > 1 AND x <> 0.",
    "ABS": "For ABS(x) > 3 write NOT (x BETWEEN -3 AND 3).",
    "SQRT": "Ask in Python for `formula_sum`, or the owner for a column that has it.",
}
"""By the word as the text has it, or as sqlglot calls its node."""


def remedy_for(word: str, otherwise: str) -> str:
    """What to write instead; `otherwise` where nothing is known of the word.

    >>> remedy_for("variance", "Allowed is AVG.")
    'It divides by n - 1, which is not public. Ask for VAR_POP.'
    >>> remedy_for("f", "Allowed is AVG.")
    'Allowed is AVG.'
    """
    return REMEDIES.get(word.upper().replace(" ", "_"), otherwise)


def not_allowed(node: exp.Expression) -> InvalidQuery:
    """That a condition may not have this, and what to write instead."""
    if isinstance(node, exp.Anonymous):
        name = str(node.name).upper()
        if name in REMEDIES:
            return InvalidQuery(f"`where` may not use {name}. {REMEDIES[name]}")
        return InvalidQuery(
            f"`where` may not use {name}. {ALLOWED} A column whose name is more than one plain word "
            'stands in double quotes, like "Stay (days)".'
        )
    elif isinstance(node, exp.Func):
        name = node.sql_name()
    elif isinstance(node, exp.Literal | exp.Boolean | exp.Null):
        return InvalidQuery(f"`where` needs a condition where a lone literal stands. {ALLOWED}")
    else:
        name = type(node).__name__.upper()
    return InvalidQuery(f"`where` may not use {name}. {remedy_for(name, ALLOWED)}")
