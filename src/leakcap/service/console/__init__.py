"""The curator's console: pages in a browser, over the same functions as `/v1`."""
