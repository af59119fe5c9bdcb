"""The explorer, `leakcap serve`: pages in the browser that show what a guarantee means. It computes nothing.

    Settings        what to show, and to whom
    create_app      the pages as an ASGI application
    serve           the same on a socket of this machine

Importing this room imports FastAPI (`pip install 'leakcap[web]'`).
"""

from __future__ import annotations

from leakcap.web.app import create_app
from leakcap.web.server import serve
from leakcap.web.serving.settings import Settings

__all__ = ["Settings", "create_app", "serve"]
