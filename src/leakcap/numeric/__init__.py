"""Numbers that stay right at the edges: log-space sums, entropies, roots, outward rounding.

Nothing here knows what privacy is. Everything is in nats.
"""

from leakcap.numeric.entropy import binary_entropy, entropy, inverse_binary_entropy, xlogx
from leakcap.numeric.logspace import exp_rest, log1mexp, logaddexp_signed, logsumexp, safe_log
from leakcap.numeric.rounding import (
    ceil_to,
    down,
    float_down,
    float_up,
    floor_to,
    hypot_up,
    product_up,
    short_down,
    short_up,
    sum_up,
    up,
)
from leakcap.numeric.search import bisect, bracket, crossing, last_where, maximise

__all__ = [
    "binary_entropy",
    "bisect",
    "bracket",
    "ceil_to",
    "crossing",
    "down",
    "entropy",
    "exp_rest",
    "float_down",
    "float_up",
    "floor_to",
    "hypot_up",
    "inverse_binary_entropy",
    "last_where",
    "log1mexp",
    "logaddexp_signed",
    "logsumexp",
    "maximise",
    "product_up",
    "safe_log",
    "short_down",
    "short_up",
    "sum_up",
    "up",
    "xlogx",
]
