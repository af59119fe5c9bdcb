"""What people do with a curator, one function each: first whether they may, then the act.

The routes of `/v1` and the console's pages call the same functions, so that neither allows what the other
refuses. Each takes the curator, who asks and what is asked, and raises what the library and the store raise.
"""
