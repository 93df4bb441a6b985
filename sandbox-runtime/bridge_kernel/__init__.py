"""The kernel of a session: runs cells, captures output, carries calls to the host. Standard library only."""
