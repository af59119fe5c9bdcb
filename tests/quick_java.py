"""How tests start Java: compiled once and lightly, without threads that collect garbage beside it.

A session of the tests ends before code that is compiled a second time, and better, has paid for itself. What
Spark computes is the same.
"""

from __future__ import annotations

__all__ = ["QUICK_JAVA"]

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=192m -XX:+UseSerialGC"
