"""The processes that alone open data and ledgers, and the calls to them."""
