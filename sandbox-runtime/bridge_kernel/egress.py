"""A way out for HTTP libraries: a proxy on 127.0.0.1, whose connections are streams of bytes to the host.

The host speaks the protocol of the proxy; this side only passes bytes on. It also names the proxy, and the certificate
with which the host answers, in all the variables that libraries and programs read.
"""

from __future__ import annotations

import collections
import gc
import os
import select
import struct
import sys
import threading
import time

from bridge_kernel import memory_reserve, unavailable
from bridge_kernel.on_import import on_import

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Any

    from bridge_kernel.frames import Frame
    from bridge_kernel.threaded import Channel

_HOST = "127.0.0.1"
# The same in all sandboxes, so that what a restored session has stored of it still holds. Without a network of its own,
# as in tests, a sandbox takes any other. Chosen.
_PORT = 3128
# No ALL_PROXY: what is not HTTP would fail later, with a worse error.
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_BYPASS_VARIABLES = ("NO_PROXY", "no_proxy")
_NO_PROXY = "localhost,127.0.0.1,::1"
_WEB_PORTS = ("80", "443", "http", "https")
# OpenSSL, requests, curl, the AWS libraries, Node, Git, pip and httplib2.
_CERTIFICATE_VARIABLES = (
    "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",
    "PIP_CERT", "HTTPLIB2_CA_CERTS",
)  # fmt: skip
# The same as MAX_EGRESS_STREAMS, MAX_EGRESS_PIECE_BYTES, MAX_EGRESS_STREAM_BYTES, MAX_EGRESS_BYTES and
# MIN_EGRESS_STREAM_BYTES of the host; a test compares them.
MAX_STREAMS = 64
PIECE_BYTES = 256 << 10
STREAM_BYTES = 1 << 20
ALL_BYTES = 8 << 20
LEAST_STREAM_BYTES = 64 << 10
# What has been passed on is reported from here on: each report costs a frame.
_TOLD_BYTES = LEAST_STREAM_BYTES // 2
# Of the thread, whose stack counts as memory of the session. Chosen: it calls few functions.
_STACK_BYTES = 256 << 10
# Pause after a connection that could not be accepted, because code has all descriptors. Chosen.
_PAUSE_SECONDS = 0.05
_SHUT_WR = 1
# Closing then sends a reset, which no one takes for the end of a body (socket(7)).
_LINGER_ZERO = struct.pack("ii", 1, 0)


def open_way(channel: Channel, certificate: str) -> Relay | None:
    """Opens the proxy and names it in the environment. None if this sandbox may have no sockets or threads."""
    try:
        relay = Relay(channel)
        path = f"/tmp/bridge-ca-{relay.port}.pem"
        with open(path, "w", encoding="utf-8") as file:
            file.write(certificate)
    except (OSError, RuntimeError):  # The limit of processes is reached.
        return None
    proxy = f"http://{_HOST}:{relay.port}"
    os.environ.update(dict.fromkeys(_PROXY_VARIABLES, proxy))
    os.environ.update(dict.fromkeys(_BYPASS_VARIABLES, _NO_PROXY))
    os.environ.update(dict.fromkeys(_CERTIFICATE_VARIABLES, path))
    for name, change in (("ssl", _prepare_ssl(certificate)), ("aiohttp.client", _use_environment)):
        if name in sys.modules:
            change(sys.modules[name], is_ahead=True)
        else:
            on_import(name, change)
    _lead_names_to(relay.port)
    unavailable.has_egress = True
    return relay


def _lead_names_to(port: int) -> None:
    """Has clients that know no proxy connect to this one: names on a port of the web lead here.

    The host sees from their first bytes what they are: TLS, which names the host, or a request that no proxy expects.
    """
    import socket

    find, kind = socket.getaddrinfo, socket.socket
    connect, connect_ex = kind.connect, kind.connect_ex

    def getaddrinfo(host: Any, port_wanted: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_of_web(host, port_wanted):
            return find(host, port_wanted, *args, **kwargs)
        # Whatever family and flags are wanted.
        kind_wanted = args[1] if len(args) > 1 else kwargs.get("type", 0)
        protocol = args[2] if len(args) > 2 else kwargs.get("proto", 0)
        return find(_HOST, port, 0, kind_wanted, protocol)

    def led(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def changed(self: Any, address: Any, /) -> Any:
            try:
                host, port_wanted = address
            except (TypeError, ValueError):  # An address of IPv6 has four parts, a path is a text.
                return method(self, address)
            return method(self, (_HOST, port) if _is_of_web(host, port_wanted) else address)

        return changed

    changes: tuple[tuple[Any, str, object], ...] = (
        (socket, "getaddrinfo", getaddrinfo), (kind, "connect", led(connect)), (kind, "connect_ex", led(connect_ex)),
    )  # fmt: skip
    for owner, name, changed in changes:
        setattr(owner, name, changed)


def _is_of_web(host: Any, port: Any) -> bool:
    name = host.decode("ascii", "replace") if isinstance(host, (bytes, bytearray)) else host
    if not isinstance(name, str) or not isinstance(port, (int, str, bytes)):
        return False
    plain = name.rstrip(".").lower()
    is_here = not plain or plain == "localhost" or plain.endswith(".localhost")
    # An address has no letters but those of hexadecimal digits beside a colon.
    is_address = ":" in plain or plain.replace(".", "").isdigit() or plain.startswith("0x")
    return not is_here and not is_address and str(port).strip("b'") in _WEB_PORTS


def _prepare_ssl(certificate: str) -> Callable[..., None]:
    """Every context of a client trusts the certificate, beside what its library brings along."""

    def prepare(ssl: Any, *, is_ahead: bool = False) -> None:
        kind = ssl.SSLContext
        load = kind.load_verify_locations

        def trust(context: Any) -> None:
            if context.protocol != ssl.PROTOCOL_TLS_SERVER:
                load(context, cadata=certificate)

        def and_trust(method: Callable[..., None]) -> Callable[..., None]:
            def changed(self: object, *args: object, **kwargs: object) -> None:
                method(self, *args, **kwargs)
                trust(self)

            changed.__name__, changed.__doc__ = method.__name__, method.__doc__
            return changed

        for name in ("load_verify_locations", "set_default_verify_paths"):
            setattr(kind, name, and_trust(getattr(kind, name)))
        _give_asyncio(ssl)
        if is_ahead:
            # Libraries make some as they are imported. Frozen objects are not listed.
            gc.unfreeze()
            for context in gc.get_objects():
                if issubclass(type(context), kind):
                    trust(context)
            gc.freeze()

    return prepare


def _give_asyncio(ssl: Any) -> None:
    """The kernel has imported asyncio without TLS."""
    for name in ("base_events", "selector_events", "sslproto"):
        module: Any = sys.modules[f"asyncio.{name}"]
        module.ssl = ssl
        if name == "sslproto":
            module.SSLAgainErrors = (ssl.SSLWantReadError, ssl.SSLSyscallError)


def _use_environment(client: Any, *, is_ahead: bool = False) -> None:
    """aiohttp looks at the variables only if it is asked to."""
    client.ClientSession.__init__.__kwdefaults__["trust_env"] = True


class _Stream:
    """A connection of a program, and what is on its way in both directions."""

    def __init__(self, number: int, connection: socket.socket) -> None:
        self.number = number
        self.connection: socket.socket | None = connection
        self.descriptor = connection.fileno()
        # What poll waits for; 0 if it does not know the connection.
        self.events = 0
        # Bytes of the host that the program has not taken.
        self.unsent: collections.deque[memoryview] = collections.deque()
        self.untold = 0
        # Bytes that the host has not passed on.
        self.untaken = 0
        # Whether the program sends no more, and whether the host does not.
        self.has_ended = False
        self.host_has_ended = False
        # Whether the host takes nothing any more: what the program sends is dropped.
        self.is_unheard = False


class Relay:
    """The proxy. A thread of its own passes the bytes on, because the code of a cell may block all others."""

    def __init__(self, channel: Channel) -> None:
        """Raises OSError if there can be no socket."""
        self._channel = channel
        self._listener = _listener()
        self.port: int = self._listener.getsockname()[1]
        self._streams: dict[int, _Stream] = {}
        self._by_descriptor: dict[int, _Stream] = {}
        self._last_number = 0
        # Of all streams.
        self._untaken = 0
        # For what is passed on at once. Made with the first connection, because most sessions have none.
        self._buffer = memoryview(b"")
        # Frames of the host, for the thread, which the pipe wakes.
        self._arrived: collections.deque[Frame] = collections.deque()
        self._is_woken = False
        self._wake_read, self._wake_write = os.pipe()
        self._poll = select.poll()
        self._poll.register(self._listener, select.POLLIN)
        self._poll.register(self._wake_read, select.POLLIN)
        # A copy of a connection would keep it open.
        os.register_at_fork(after_in_child=self._close_copies)
        earlier = threading.stack_size(_STACK_BYTES)
        try:
            threading.Thread(target=self._run, name="bridge-egress", daemon=True).start()
        finally:
            threading.stack_size(earlier)

    def receive(self, frame: Frame) -> None:
        """Takes a frame of the host, where frames are read."""
        self._arrived.append(frame)
        if not self._is_woken:
            self._is_woken = True
            os.write(self._wake_write, b"w")

    def _close_copies(self) -> None:
        for stream in self._streams.values():
            if stream.connection is not None:
                stream.connection.close()
        self._streams.clear()
        self._listener.close()

    def _run(self) -> None:
        while True:
            try:
                for descriptor, event in self._poll.poll():
                    self._handle(descriptor, event)
                for stream in list(self._streams.values()):
                    self._watch(stream)
            except MemoryError:
                memory_reserve.release()

    def _handle(self, descriptor: int, event: int) -> None:
        if descriptor == self._wake_read:
            os.read(descriptor, 1)
            self._is_woken = False
            while self._arrived:
                self._take(self._arrived.popleft())
        elif descriptor == self._listener.fileno():
            self._accept()
        elif (stream := self._by_descriptor.get(descriptor)) is not None:
            self._guarded(stream, self._move, stream, event)

    def _guarded(self, stream: _Stream, action: Callable[..., None], *arguments: Any) -> None:
        """A stream that fails is gone: what was on its way cannot be repeated."""
        try:
            action(*arguments)
        except (OSError, MemoryError):
            self._send({"type": "egress_reset", "stream": stream.number})
            self._drop(stream)

    def _send(self, frame: Frame, data: memoryview | None = None) -> None:
        if data is not None:
            self._channel.send_with_bytes(frame, data)
        else:
            self._channel.send(frame)
        # The answer is for this thread.
        self._channel.let_reader_read()

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError:
            time.sleep(_PAUSE_SECONDS)
            return
        if len(self._streams) >= MAX_STREAMS:
            connection.close()
            return
        if not self._buffer:
            self._buffer = memoryview(bytearray(PIECE_BYTES))
        connection.setblocking(False)
        self._last_number += 1
        stream = _Stream(self._last_number, connection)
        self._streams[stream.number] = self._by_descriptor[stream.descriptor] = stream
        self._send({"type": "egress_open", "stream": stream.number})

    def _take(self, frame: Frame) -> None:
        """Handles a frame of the host."""
        stream = self._streams.get(_number(frame["stream"]))
        if stream is None:
            return  # The host may not know yet that it is gone.
        kind = frame["type"]
        if kind == "egress_reset":
            self._forget_untaken(stream)
            if stream.host_has_ended:
                # The answer is whole. A program that still sends its request gets to read it.
                stream.is_unheard = True
            else:
                self._drop(stream)
        elif kind == "egress_taken":
            stream.untaken -= _number(frame["bytes"])
            self._untaken -= _number(frame["bytes"])
            self._forget_complete(stream)
        elif kind == "egress_end":
            stream.host_has_ended = True
            self._guarded(stream, self._give, stream)
        else:
            data: Any = frame["data"]
            stream.unsent.append(memoryview(data))
            self._guarded(stream, self._give, stream)

    def _move(self, stream: _Stream, event: int) -> None:
        if event & select.POLLERR:
            raise ConnectionResetError
        if event & select.POLLOUT:
            self._give(stream)
        if event & (select.POLLIN | select.POLLHUP):
            self._read(stream)

    def _give(self, stream: _Stream) -> None:
        """Passes bytes of the host on to the program."""
        connection = stream.connection
        if connection is None:
            return
        while stream.unsent:
            try:
                count = connection.send(stream.unsent[0])
            except BlockingIOError:
                break
            stream.untold += count
            rest = stream.unsent.popleft()[count:]
            if rest:
                stream.unsent.appendleft(rest)
        is_last = stream.host_has_ended and not stream.unsent
        if stream.untold >= _TOLD_BYTES or (is_last and stream.untold):
            told, stream.untold = stream.untold, 0
            self._send({"type": "egress_taken", "stream": stream.number, "bytes": told})
        if is_last:
            connection.shutdown(_SHUT_WR)
            self._end_complete(stream)

    def _read(self, stream: _Stream) -> None:
        """Passes bytes of the program on to the host."""
        room = self._room(stream)
        connection = stream.connection
        if connection is None or stream.has_ended or not room:
            return
        try:
            count = connection.recv_into(self._buffer, room)
        except BlockingIOError:
            return
        if count and stream.is_unheard:
            return
        if count:
            stream.untaken += count
            self._untaken += count
            self._send({"type": "egress_data", "stream": stream.number, "bytes": count}, self._buffer[:count])
        else:
            stream.has_ended = True
            self._send({"type": "egress_end", "stream": stream.number})
            self._end_complete(stream)

    def _room(self, stream: _Stream) -> int:
        """How many bytes of a stream may be sent now."""
        of_all = min(STREAM_BYTES - stream.untaken, ALL_BYTES - self._untaken)
        return min(PIECE_BYTES, max(of_all, LEAST_STREAM_BYTES - stream.untaken, 0))

    def _watch(self, stream: _Stream) -> None:
        """Has poll wait for what the stream can do. Not for nothing: poll reports an end even then."""
        if stream.connection is None:
            return
        events = select.POLLOUT if stream.unsent else 0
        if not stream.has_ended and self._room(stream):
            events |= select.POLLIN
        if events == stream.events:
            return
        if not events:
            self._poll.unregister(stream.descriptor)
        else:
            self._poll.register(stream.descriptor, events)
        stream.events = events

    def _end_complete(self, stream: _Stream) -> None:
        """Closes a connection of which both directions have ended."""
        if stream.has_ended and stream.host_has_ended and not stream.unsent:
            self._close(stream)
            self._forget_complete(stream)

    def _forget_complete(self, stream: _Stream) -> None:
        """Not before the host has passed on everything, which counts until then."""
        if stream.connection is None and not stream.untaken:
            self._streams.pop(stream.number, None)

    def _drop(self, stream: _Stream) -> None:
        """The stream is gone. The program must not take that for its end."""
        import socket

        if stream.connection is not None:
            try:
                stream.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
            except OSError:
                pass  # It has ended already.
        self._close(stream)
        self._forget_untaken(stream)
        self._streams.pop(stream.number, None)

    def _forget_untaken(self, stream: _Stream) -> None:
        self._untaken -= stream.untaken
        stream.untaken = 0

    def _close(self, stream: _Stream) -> None:
        connection, stream.connection = stream.connection, None
        if connection is not None:
            if stream.events:
                self._poll.unregister(stream.descriptor)
            del self._by_descriptor[stream.descriptor]
            connection.close()


def _listener() -> socket.socket:
    import socket

    listener = socket.socket()
    try:
        listener.bind((_HOST, _PORT))
    except OSError:
        listener.bind((_HOST, 0))
    listener.listen(MAX_STREAMS)
    listener.setblocking(False)
    return listener


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
