"""The first process of a Pod. It waits until a bridge claims the Pod, and then becomes what the bridge wants to run.

`door.py`, which `kubectl exec` runs, hands over its standard streams through a socket. So the kernel's supervisor runs
as PID 1, as in every other engine, and writes to the streams of `kubectl exec` directly. Nothing gets to the output of
the container, which the node keeps in a log.

Input passes through one process of ours, the relay. The bridge sends it in packets, and an empty packet at least every
few seconds. If none arrives within the lease, for example because the connection was lost without notice, the relay
ends. The supervisor then sees the end of its input, and ends the Pod. Code in the sandbox could stop the relay, so the
supervisor also watches the input of the relay, and expects a byte from it (a beat) within the lease.

Arguments: seconds to wait for the bridge, seconds of the lease, what to do about sockets (`closed` or `try`),
and the size of the largest file.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import select
import signal
import socket
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# Abstract: it leaves nothing in the file system, and only this Pod can see it.
ADDRESS = b"\0mcp-bridge"
# Where the supervisor finds the descriptors of the farewell, of the input and of the beats, the lease in seconds, and
# whether there is a network.
VARIABLE = "MCP_BRIDGE_POD"
_PR_SET_DUMPABLE = 4
_HEADER_BYTES = 4
_READ_BYTES = 1 << 18
# What the relay keeps for code that does not read. It then stops reading, and sees no more empty packets.
_KEPT_BYTES = 4 << 20
# How many leases may pass while it cannot see them. Chosen: 10 minutes, longer than most deadlines of cells.
_BLOCKED_LEASES = 15
# How long code that does not read may delay the end. Chosen.
_FLUSH_S = 5
_FAREWELL_MS = 2_000
# A connection in a cluster is answered within milliseconds. Chosen.
_ANSWER_S = 1.0
_MAX_OPEN_FILES = 1024
# Exit code of a relay whose lease ran out.
_EXPIRED = 3


def main() -> None:
    claim_s, lease_s, sockets, file_bytes = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    # Code in the sandbox has the same user. This keeps it from tracing this process and the relay.
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))
    set_limits(file_bytes)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(ADDRESS)
    listener.listen(1)
    attempts = Attempts() if sockets == "try" else None
    if not select.select([listener], [], [], claim_s)[0]:
        os._exit(0)  # The bridge that made this Pod is gone.
    door, _ = listener.accept()
    listener.close()
    streams, message = receive(door)
    reached = attempts.reached() if attempts else None
    relay, beat = start_relay(streams, door, lease_s)
    if attempts:
        os.write(2, b'{"report":"network","reached":"%s"}\n' % (reached or "").encode("ascii"))
    for name in [name for name in os.environ if name.startswith("KUBERNETES_")]:
        del os.environ[name]
    kind, wanted, *command = message.decode("utf-8").split("\0")
    if kind == "supervised":
        has_network = "closed" in (sockets, wanted) or reached is not None
        os.environ[VARIABLE] = f"{door.fileno()} {streams[0]} {beat} {lease_s} {has_network:d}"
        run_here(command[-1], door.fileno())
    run_beside(command, door, relay)


def set_limits(file_bytes: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = _MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # Every container has one file on the disk of the node that anyone in it can write to: its termination message.
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))


class Attempts:
    """Connections to what every Pod could reach without a policy: the API of the cluster, and the node."""

    def __init__(self) -> None:
        self._end = time.monotonic() + _ANSWER_S
        self._open: dict[int, tuple[socket.socket, str]] = {}
        self._reached: str | None = None
        self._poll = select.poll()
        for host, port in targets():
            self._begin(host, port)

    def _begin(self, host: str, port: int) -> None:
        try:
            attempt = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
            attempt.setblocking(False)
            error = attempt.connect_ex((host, port))
        except OSError:
            return  # No such protocol here, so no way out.
        if error == errno.EINPROGRESS:
            self._open[attempt.fileno()] = (attempt, f"{host}:{port}")
            self._poll.register(attempt.fileno(), select.POLLOUT)
        elif error in (0, errno.ECONNREFUSED):
            self._reached = f"{host}:{port}"

    def reached(self) -> str | None:
        """Address that answered, even if only with a refusal; None if nothing did."""
        while self._open and self._reached is None:
            left_ms = int((self._end - time.monotonic()) * 1000)
            events = self._poll.poll(max(0, left_ms))
            if not events:
                break
            for descriptor, _ in events:
                attempt, address = self._open.pop(descriptor)
                self._poll.unregister(descriptor)
                if attempt.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) in (0, errno.ECONNREFUSED):
                    self._reached = address
                attempt.close()
        for attempt, _ in self._open.values():
            attempt.close()
        return self._reached


def targets() -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    host = os.environ.get("KUBERNETES_SERVICE_HOST")
    if host:
        found.append((host, int(os.environ.get("KUBERNETES_SERVICE_PORT", "443"))))
    try:
        with open("/proc/net/route") as file:
            for line in file.readlines()[1:]:
                gateway = int(line.split()[2], 16)
                if gateway:
                    found.append((socket.inet_ntoa(gateway.to_bytes(4, sys.byteorder)), 443))
    except OSError:
        pass  # No network at all.
    # Where clouds answer with credentials of the node.
    found.append(("169.254.169.254", 80))
    return found


def receive(door: socket.socket) -> tuple[list[int], bytes]:
    """The three streams of the door, and its message."""
    pieces, ancillary, _, _ = door.recvmsg(1 << 16, socket.CMSG_SPACE(12))
    streams = [
        int.from_bytes(data[start : start + 4], sys.byteorder)
        for _, _, data in ancillary
        for start in range(0, len(data), 4)
    ]
    if len(streams) != 3:
        os._exit(70)
    message = pieces
    while piece := door.recv(1 << 16):
        message += piece
    return streams, message


def start_relay(streams: list[int], door: socket.socket, lease_s: int) -> tuple[int, int]:
    """Starts the relay, and makes its output and the streams of the door those of this process.

    Returns the id of the relay, and where its beats can be read.
    """
    source, *outputs = streams
    read_end, write_end = os.pipe()
    beat, beat_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        for descriptor in (0, 1, 2, read_end, beat, door.fileno(), *outputs):
            os.close(descriptor)
        try:
            Relay(source, write_end, beat_end, lease_s).run()
        finally:
            os._exit(0)
    for descriptor, number in ((read_end, 0), (outputs[0], 1), (outputs[1], 2)):
        os.dup2(descriptor, number)
    for descriptor in (write_end, read_end, beat_end, *outputs):
        os.close(descriptor)
    return pid, beat


class Relay:
    """Passes on what the packets from the bridge contain."""

    def __init__(self, source: int, sink: int, beat: int, lease_s: int) -> None:
        self._source, self._sink, self._beat, self._lease_s = source, sink, beat, lease_s
        self._beaten = -1.0
        self._kept: list[memoryview] = []
        self._kept_bytes = 0
        self._header = b""
        # Bytes of the current packet that are still to come.
        self._missing = 0
        os.set_blocking(source, False)
        os.set_blocking(sink, False)

    def run(self) -> None:
        poll = select.poll()
        poll.register(self._sink, 0)
        last = time.monotonic()
        while True:
            is_blocked = self._kept_bytes >= _KEPT_BYTES
            self._beat_after(last, _BLOCKED_LEASES if is_blocked else 1)
            poll.register(self._source, 0 if is_blocked else select.POLLIN)
            poll.modify(self._sink, select.POLLOUT if self._kept else 0)
            left_s = last + self._lease_s * (_BLOCKED_LEASES if is_blocked else 1) - time.monotonic()
            if left_s <= 0:
                os._exit(_EXPIRED)
            events = dict(poll.poll(int(left_s * 1000) + 1))
            if events.get(self._sink, 0) & (select.POLLERR | select.POLLHUP):
                return  # No one reads any more.
            if self._source in events:
                last = time.monotonic()
                if events[self._source] & select.POLLHUP:
                    # What a writer that has ended left in the pipe is small, and read even if much is kept already.
                    while self._read():
                        pass
                    self._flush()
                    return
                if not is_blocked and not self._read():
                    self._flush()
                    return
            self._write()

    def _beat_after(self, packet_time: float, leases: int) -> None:
        """Says that the bridge is there: not more often than necessary, because each beat wakes the supervisor."""
        if packet_time - self._beaten > 1 or leases > 1:
            self._beaten = packet_time
            os.write(self._beat, bytes([leases]))

    def _read(self) -> bool:
        """Returns whether there may be more."""
        try:
            data = os.read(self._source, _READ_BYTES)
        except BlockingIOError:
            return True
        view = memoryview(data)
        while view:
            if self._missing:
                part = view[: self._missing]
                self._kept.append(part)
                self._kept_bytes += len(part)
                self._missing -= len(part)
                view = view[len(part) :]
                continue
            lacking = _HEADER_BYTES - len(self._header)
            self._header += bytes(view[:lacking])
            view = view[lacking:]
            if len(self._header) == _HEADER_BYTES:
                self._missing = int.from_bytes(self._header, "big")
                self._header = b""
        return bool(data)

    def _write(self) -> None:
        while self._kept:
            try:
                written = os.writev(self._sink, self._kept[:64])
            except BlockingIOError:
                return
            self._kept_bytes -= written
            done = 0
            while written and written >= len(self._kept[done]):
                written -= len(self._kept[done])
                done += 1
            del self._kept[:done]
            if written:
                self._kept[0] = self._kept[0][written:]

    def _flush(self) -> None:
        end = time.monotonic() + _FLUSH_S
        poll = select.poll()
        poll.register(self._sink, select.POLLOUT)
        while self._kept and time.monotonic() < end:
            poll.poll(100)
            self._write()


def run_here(code: str, door: int) -> NoReturn:
    """Runs Python code as PID 1, without starting another interpreter."""
    leave = os._exit

    def say_farewell(status: int) -> NoReturn:
        if os.getpid() == 1:
            farewell(door, status)
        leave(status)

    os._exit = say_farewell
    main_module = sys.modules["__main__"] = type(sys)("__main__")
    sys.argv = ["-c"]
    try:
        exec(compile(code, "<string>", "exec"), main_module.__dict__)
    except SystemExit as error:
        say_farewell(error.code if isinstance(error.code, int) else 0 if error.code is None else 1)
    except BaseException:  # noqa: BLE001 As at the end of any Python.
        import traceback

        traceback.print_exc()
        say_farewell(1)
    say_farewell(0)


def run_beside(command: list[str], door: socket.socket, relay: int) -> NoReturn:
    """Runs any other program, and ends with it."""
    child = os.fork()
    if child == 0:
        door.close()
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f'exec: "{command[0]}": {error.strerror}\n'.encode())
            os._exit(127)
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    while True:
        pid, status = os.waitpid(-1, 0)
        code = os.waitstatus_to_exitcode(status)
        if pid == child or (pid == relay and code == _EXPIRED):
            farewell(door.fileno(), code if code >= 0 else 128 - code)
            os._exit(code if code >= 0 else 128 - code)


def farewell(door: int, status: int) -> None:
    """Lets the door end first, with this status, which the bridge gets. It would be killed when PID 1 ends."""
    try:
        os.write(door, str(status).encode("ascii"))
        poll = select.poll()
        poll.register(door, select.POLLIN)
        poll.poll(_FAREWELL_MS)
    except OSError:
        pass  # It has ended already.


if __name__ == "__main__":
    main()
