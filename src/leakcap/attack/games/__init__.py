"""Games about one person: averaging, differencing, membership, timing, and what wins them."""
