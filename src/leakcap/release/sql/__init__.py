"""A SELECT statement as queries, read from sqlglot's tree by a whitelist."""
