from __future__ import annotations

from one_loop import one_loop

__all__ = ["one_loop"]
