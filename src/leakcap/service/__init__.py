"""The curator: a service that many people ask, while nobody but the owner holds the data.

configuration   what the owner writes, `curator.toml`
store           people, tokens, grants, jobs and acts of administration
identity        who asks, verified
authorization   who may do what, to which data set
engine          the processes that alone open data and ledgers
api             what is asked over HTTP, `/v1`
running         the supervisor: sockets, processes, what is checked at the start
"""
