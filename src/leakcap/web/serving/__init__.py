"""What stands around the pages: the guard, limits on time and connections, the socket."""
