"""The supervisor: what is checked at the start, sockets, processes."""
