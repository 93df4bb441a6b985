"""What `kubectl exec` runs in a Pod: hands its streams to the first process (`holder.py`), and waits for its end.

Arguments: `supervised` for Python code that the first process runs itself, `plain` for a program that it starts;
`closed` if code must not open network sockets; the command.
"""

from __future__ import annotations

import _socket as socket
import os
import sys
import time

# The container counts as running before its first process listens.
_ATTEMPTS, _PAUSE_S = 4_000, 0.005
# Without a farewell: as if killed, which is what usually happens then.
_KILLED = 137

door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
for _ in range(_ATTEMPTS):
    try:
        door.connect(b"\0mcp-bridge")
        break
    except OSError:
        time.sleep(_PAUSE_S)
else:
    os.write(2, b"the first process of the Pod does not answer\n")
    os._exit(70)
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
message = "\0".join(sys.argv[1:]).encode("utf-8")
sent = door.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
door.sendall(message[sent:])
door.shutdown(socket.SHUT_WR)
# Code in the sandbox could otherwise write to them through this process.
nothing = os.open("/dev/null", os.O_RDWR)
for number in (0, 1, 2):
    os.dup2(nothing, number)
try:
    status = door.recv(16)
except OSError:
    status = b""
os._exit(int(status) if status else _KILLED)
