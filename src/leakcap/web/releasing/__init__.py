"""The release form, its questions, and the ledger's pages."""
