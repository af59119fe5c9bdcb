"""Finite channels: stochastic matrices from secrets to observations, as values with an algebra.

`Channel` is the value; `checks` says what a channel is, `reading` takes it from arrays, frames, sparse
matrices and fractions, `entries` multiplies whatever holds the numbers, `merging` finds the sufficient
statistic, `files` keeps channels on disk, `batch` holds many of one shape.
"""

from leakcap.channel.batch import ChannelBatch
from leakcap.channel.checks import as_prior
from leakcap.channel.finite import Channel

__all__ = ["Channel", "ChannelBatch", "as_prior"]
