"""Numbers that stay right at the edges: log-space sums, entropies, roots, outward rounding.

Nothing here knows what privacy is. Everything is in nats.
"""

from leakcap.numeric.entropy import binary_entropy, entropy, inverse_binary_entropy, xlogx
from leakcap.numeric.logspace import log1mexp, logaddexp_signed, logsumexp, safe_log
from leakcap.numeric.rounding import ceil_to, down, floor_to, up
from leakcap.numeric.search import bisect, maximise

__all__ = [
    "binary_entropy",
    "bisect",
    "ceil_to",
    "down",
    "entropy",
    "floor_to",
    "inverse_binary_entropy",
    "log1mexp",
    "logaddexp_signed",
    "logsumexp",
    "maximise",
    "safe_log",
    "up",
    "xlogx",
]
