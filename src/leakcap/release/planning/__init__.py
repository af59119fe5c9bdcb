"""From a query to what is computed, which noise it gets, and what that costs."""
