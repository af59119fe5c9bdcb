"""The explorer, `leakcap serve`: pages in the browser that show what a guarantee means. It computes nothing.

    Settings        what to show, and to whom
    create_app      the pages as an ASGI application
    serve           the same on a socket of this machine

FastAPI is imported with the first of the last two (`pip install 'leakcap[web]'`): the process that computes
for a page needs none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakcap.lazily import lazily

if TYPE_CHECKING:
    from leakcap.web.app import create_app
    from leakcap.web.server import serve
    from leakcap.web.serving.settings import Settings

__all__ = ["Settings", "create_app", "serve"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "leakcap.web.app": ("create_app",),
        "leakcap.web.server": ("serve",),
        "leakcap.web.serving.settings": ("Settings",),
    },
)
