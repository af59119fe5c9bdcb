"""The curator over HTTP: `/v1`."""
