"""The kernel of a session: runs cells, captures output, and sends calls to the host. Standard library only."""
