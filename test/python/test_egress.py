"""The relay of the proxy: bytes in both directions, limits, ends; and what libraries are told."""

from __future__ import annotations

import asyncio
import collections
import os
import re
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import types
import unittest
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bridge_kernel import checkpoints, egress, unavailable

_ROOT = Path(__file__).parents[2]
_TLS = _ROOT / "test" / "fixtures" / "tls"
_DEADLINE_SECONDS = 10


class FakeChannel:
    """The host: keeps what the relay sends."""

    def __init__(self) -> None:
        self.frames: list[tuple[dict[str, Any], bytes]] = []
        self.arrived = threading.Condition()
        self.reads = 0

    def send(self, frame: dict[str, Any]) -> None:
        self.send_with_bytes(frame, b"")

    def send_with_bytes(self, frame: dict[str, Any], data: Any) -> None:
        with self.arrived:
            self.frames.append((frame, bytes(data)))
            self.arrived.notify_all()

    def let_reader_read(self) -> None:
        self.reads += 1


class RelayTest(unittest.TestCase):
    def setUp(self) -> None:
        self.host = FakeChannel()
        channel: Any = self.host
        # Their threads live as long as this process: each keeps its listener.
        self.relay = egress.Relay(channel)

    def connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.relay.port), _DEADLINE_SECONDS)
        self.addCleanup(connection.close)
        return connection

    def wait(self, stream: int, kind: str, count: int = 1) -> list[dict[str, Any]]:
        """The frames of a stream of one kind, once there are so many."""
        end = time.monotonic() + _DEADLINE_SECONDS
        with self.host.arrived:
            while True:
                found = [each for each, _ in self.host.frames if each["type"] == kind and each["stream"] == stream]
                if len(found) >= count:
                    return found
                self.assertTrue(self.host.arrived.wait(end - time.monotonic()), f"no {kind}: {self.kinds()}")

    def wait_for_bytes(self, stream: int, count: int) -> bytes:
        end = time.monotonic() + _DEADLINE_SECONDS
        with self.host.arrived:
            while len(data := self.sent(stream)) < count:
                self.assertTrue(self.host.arrived.wait(end - time.monotonic()), f"{len(data)} of {count} bytes")
        return data

    def sent(self, stream: int) -> bytes:
        return b"".join(data for frame, data in self.host.frames if frame["stream"] == stream)

    def kinds(self) -> list[tuple[int, str]]:
        return [(each["stream"], each["type"]) for each, _ in self.host.frames]

    def answer(self, kind: str, stream: int, data: bytes | None = None, **more: object) -> None:
        given = {} if data is None else {"bytes": len(data), "data": data}
        self.relay.receive({"type": f"egress_{kind}", "stream": stream, **given, **more})

    def test_bytes_pass_in_both_directions_and_each_ends_by_itself(self) -> None:
        client = self.connect()
        client.sendall(b"request\n\xff")
        self.assertEqual(self.wait_for_bytes(1, 9), b"request\n\xff")
        client.shutdown(socket.SHUT_WR)
        self.wait(1, "egress_end")
        self.answer("data", 1, b"answer ")
        self.answer("data", 1, b"\0\n")
        self.answer("end", 1)
        self.assertEqual(_read_all(client), b"answer \0\n")
        self.assertEqual([frame["bytes"] for frame in self.wait(1, "egress_taken")], [9])
        self.answer("taken", 1, bytes=9)
        self.wait_until_forgotten()
        self.assertNotIn((1, "egress_reset"), self.kinds())
        self.assertGreater(self.host.reads, 0)

    def test_the_host_may_end_first(self) -> None:
        client = self.connect()
        self.wait(1, "egress_open")
        self.answer("end", 1)
        self.assertEqual(client.recv(1), b"")
        client.sendall(b"late")
        client.close()
        self.assertEqual(self.wait_for_bytes(1, 4), b"late")
        self.wait(1, "egress_end")
        self.answer("taken", 1, bytes=4)
        self.wait_until_forgotten()

    def test_a_limited_number_of_bytes_is_on_its_way_to_the_host(self) -> None:
        client = self.connect()
        data = os.urandom(1 << 16) * 48
        sending = threading.Thread(target=client.sendall, args=(data,))
        sending.start()
        self.wait_for_bytes(1, egress.STREAM_BYTES)
        time.sleep(0.1)
        self.assertEqual(len(self.sent(1)), egress.STREAM_BYTES)
        taken = 100
        self.answer("taken", 1, bytes=taken)
        self.wait_for_bytes(1, egress.STREAM_BYTES + taken)
        time.sleep(0.1)
        self.assertEqual(len(self.sent(1)), egress.STREAM_BYTES + taken)
        while taken < len(data):
            more = len(self.sent(1)) - taken
            taken += more
            self.answer("taken", 1, bytes=more)
            self.wait_for_bytes(1, min(len(data), taken + 1))
        sending.join(_DEADLINE_SECONDS)
        self.assertEqual(self.sent(1), data)
        self.assertLessEqual(max(len(each) for _, each in self.host.frames), egress.PIECE_BYTES)

    def test_each_stream_has_its_part_even_if_the_others_have_all(self) -> None:
        count = egress.ALL_BYTES // egress.STREAM_BYTES + 2
        clients = [self.connect() for _ in range(count)]
        for client in clients:
            client.setblocking(False)
        totals: collections.Counter[int] = collections.Counter()
        end = time.monotonic() + 1
        while time.monotonic() < end:
            for client in clients:
                try:
                    totals[client.fileno()] += client.send(bytes(1 << 16))
                except BlockingIOError:
                    time.sleep(0.001)
        sizes = [len(self.sent(number + 1)) for number in range(count)]
        self.assertGreaterEqual(min(sizes), egress.LEAST_STREAM_BYTES)
        self.assertLessEqual(sum(sizes), egress.ALL_BYTES + count * egress.LEAST_STREAM_BYTES)
        self.assertGreaterEqual(sum(sizes), egress.ALL_BYTES)

    def test_what_a_program_does_not_take_is_not_reported(self) -> None:
        client = self.connect()
        self.wait(1, "egress_open")
        sent = 0
        for _ in range(24):
            self.answer("data", 1, bytes(egress.PIECE_BYTES))
            sent += egress.PIECE_BYTES
        time.sleep(0.2)
        taken = sum(frame["bytes"] for frame in self.wait(1, "egress_taken"))
        self.assertLess(taken, sent)
        self.answer("end", 1)
        self.assertEqual(len(_read_all(client)), sent)
        end = time.monotonic() + _DEADLINE_SECONDS
        while sum(frame["bytes"] for frame in self.wait(1, "egress_taken")) < sent and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(sum(frame["bytes"] for frame in self.wait(1, "egress_taken")), sent)

    def test_a_stream_that_the_host_resets_is_no_end_for_the_program(self) -> None:
        client = self.connect()
        self.wait(1, "egress_open")
        self.answer("data", 1, b"some")
        self.assertEqual(client.recv(10), b"some")
        self.answer("reset", 1)
        with self.assertRaises(ConnectionResetError):
            client.recv(10)
        self.wait_until_forgotten()
        # The host may not know yet.
        for late in ("data", "end", "reset"):
            self.answer(late, 1, b"x" if late == "data" else None)
        self.connect()
        self.wait(2, "egress_open")
        self.assertEqual(self.kinds(), [(1, "egress_open"), (2, "egress_open")])

    def test_an_answer_that_has_ended_is_whole_even_if_the_host_resets_its_stream_then(self) -> None:
        # Node destroys a connection of TLS as soon as it has written the answer.
        client = self.connect()
        client.sendall(b"x" * 1_000)
        self.wait_for_bytes(1, 1_000)
        for _ in range(40):
            self.answer("data", 1, bytes(egress.PIECE_BYTES))
        self.answer("end", 1)
        self.answer("reset", 1)
        time.sleep(0.1)
        client.sendall(bytes(20 << 20))  # No one takes this.
        self.assertEqual(len(_read_all(client)), 40 * egress.PIECE_BYTES)
        client.close()
        self.wait_until_forgotten()
        self.assertEqual(len(self.sent(1)), 1_000)

    def test_a_program_that_goes_away_resets_its_stream(self) -> None:
        client = self.connect()
        self.wait(1, "egress_open")
        for _ in range(40):
            self.answer("data", 1, bytes(egress.PIECE_BYTES))
        client.recv(10)
        client.close()
        self.wait(1, "egress_reset")
        self.wait_until_forgotten()

    def test_so_many_connections_become_streams(self) -> None:
        clients = [self.connect() for _ in range(egress.MAX_STREAMS + 1)]
        self.wait(egress.MAX_STREAMS, "egress_open")
        self.assertEqual(clients[-1].recv(1), b"")
        self.assertEqual(len(self.host.frames), egress.MAX_STREAMS)
        self.answer("reset", 1)
        self.wait_until(lambda: len(self.streams()) < egress.MAX_STREAMS)
        self.connect()
        self.wait(egress.MAX_STREAMS + 1, "egress_open")

    def test_a_forked_process_keeps_no_connection_open(self) -> None:
        client = self.connect()
        self.wait(1, "egress_open")
        read_end, write_end = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Of a fork with threads, since Python 3.12.
            pid = os.fork()
        if pid == 0:
            os.close(write_end)
            os.read(read_end, 1)
            os._exit(0)
        os.close(read_end)
        self.answer("data", 1, b"x")
        self.answer("reset", 1)
        self.assertIn(client.recv(1), (b"x", b""))
        with self.assertRaises(ConnectionResetError):
            client.recv(1)
        os.close(write_end)
        os.waitpid(pid, 0)

    def streams(self) -> dict[int, object]:
        return self.relay._streams  # noqa: SLF001 # pyright: ignore[reportReturnType]

    def wait_until(self, is_so: Any) -> None:
        end = time.monotonic() + _DEADLINE_SECONDS
        while not is_so() and time.monotonic() < end:
            time.sleep(0.005)
        self.assertTrue(is_so())

    def wait_until_forgotten(self) -> None:
        self.wait_until(lambda: not self.streams())
        self.assertEqual(self.relay._untaken, 0)  # noqa: SLF001


class Limits(unittest.TestCase):
    def test_are_those_of_the_host(self) -> None:
        text = (_ROOT / "src" / "core" / "base" / "egress-limits.ts").read_text("utf-8")
        units = {"KIB": 1 << 10, "MIB": 1 << 20}

        def of_host(name: str) -> int:
            found = re.search(rf"export const {name} = ([^;]+);", text)
            assert found is not None
            product = 1
            for factor in found[1].split(" * "):
                product *= units.get(factor) or int(factor)
            return product

        self.assertEqual(
            [of_host(f"M{name}") for name in ("AX_EGRESS_STREAMS", "AX_EGRESS_PIECE_BYTES", "AX_EGRESS_STREAM_BYTES",
                                               "AX_EGRESS_BYTES", "IN_EGRESS_STREAM_BYTES")],
            [egress.MAX_STREAMS, egress.PIECE_BYTES, egress.STREAM_BYTES, egress.ALL_BYTES, egress.LEAST_STREAM_BYTES],
        )  # fmt: skip


class Way(unittest.TestCase):
    """What `open_way` tells libraries. In processes of their own, because it changes modules."""

    def run_code(self, code: str) -> str:
        start = f"""
            import os, sys
            sys.path.insert(0, {str(_ROOT / "sandbox-runtime")!r})
            from bridge_kernel.__main__ import import_asyncio
            import_asyncio()
            from bridge_kernel import egress, unavailable
            from pathlib import Path
            import types
            channel = types.SimpleNamespace(send=lambda frame: None, let_reader_read=lambda: None)
            certificate = Path({str(_TLS / "mcp.test.crt")!r}).read_text()
            OTHER = Path({str(_TLS / "company-ca.crt")!r}).read_text()
            def open_way(): return egress.open_way(channel, certificate)
            def clean(): os.unlink(os.environ["CURL_CA_BUNDLE"])
        """
        text = textwrap.dedent(start) + textwrap.dedent(code)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", text], capture_output=True, text=True, check=False, timeout=60
        )
        self.assertEqual(done.stderr, "")
        return done.stdout.strip()

    def test_contexts_of_clients_trust_the_certificate_whenever_they_were_made(self) -> None:
        code = """
            {first}
            {second}
            import ssl
            late = ssl.create_default_context(cadata=OTHER)
            server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            server.load_verify_locations(cadata=OTHER)
            alone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            os.environ["SSL_CERT_FILE"] = os.devnull
            alone.load_default_certs()
            names = lambda context: sorted(str(each["subject"][0][0][1]) for each in context.get_ca_certs())
            import asyncio.sslproto
            print(names(early) if {is_ahead} else None, names(late), "mcp.test" in names(server),
                  "mcp.test" in names(alone), asyncio.sslproto.ssl is ssl, asyncio.sslproto.SSLAgainErrors != ())
            clean()
        """
        early = "import ssl; early = ssl.create_default_context(cadata=OTHER)"
        ahead = code.format(first=early, second="open_way()", is_ahead=True)
        later = code.format(first="open_way()", second="", is_ahead=False)
        expected = "['company', 'mcp.test'] False True True True"
        self.assertEqual(self.run_code(ahead), f"['company', 'mcp.test'] {expected}")
        self.assertEqual(self.run_code(later), f"None {expected}")

    def test_aiohttp_follows_the_variables(self) -> None:
        code = """
            import tempfile
            folder = tempfile.TemporaryDirectory()
            os.mkdir(f"{folder.name}/aiohttp")
            for name, text in (("__init__", "from .client import ClientSession"), ("client", '''
            class ClientSession:
                def __init__(self, base_url=None, *, trust_env=False): self.trust_env = trust_env
            ''')):
                import textwrap
                Path(f"{folder.name}/aiohttp/{name}.py").write_text(textwrap.dedent(text))
            sys.path.insert(0, folder.name)
            sys.dont_write_bytecode = True
            open_way()
            import aiohttp
            print(aiohttp.ClientSession().trust_env, aiohttp.ClientSession(trust_env=False).trust_env)
            clean()
            folder.cleanup()
        """
        self.assertEqual(self.run_code(code), "True False")

    def test_names_lead_clients_without_a_proxy_here(self) -> None:
        code = """
            relay = open_way()
            import socket
            ends = lambda *args, **kwargs: {end[4] for end in socket.getaddrinfo(*args, **kwargs)}
            here = {("127.0.0.1", relay.port)}
            print(ends("a.example", 443) == here, ends(b"a.example", "http", type=socket.SOCK_STREAM) == here,
                  ends("a.example", 80, socket.AF_INET6, socket.SOCK_STREAM) == here, ends("127.0.0.1", 80) == here,
                  relay.port in {end[1] for end in ends("localhost", 80)})
            direct = socket.create_connection(("127.0.0.1", relay.port))
            with socket.socket() as by_name: by_name.connect(("b.example", 443)); print(by_name.getpeername() in here)
            direct.close()
            clean()
        """
        self.assertEqual(self.run_code(code), "True True True False False\nTrue")

    def test_without_sockets_nothing_changes(self) -> None:
        code = """
            import socket
            from unittest.mock import patch
            before = dict(os.environ)
            with patch.object(socket, "socket", side_effect=PermissionError): print(open_way())
            print(dict(os.environ) == before, unavailable.has_egress)
        """
        self.assertEqual(self.run_code(code).split(), ["None", "True", "False"])


class Restored(unittest.TestCase):
    """A checkpoint of one sandbox in another."""

    def parts(self, environment: dict[str, str], folder: str) -> checkpoints.SessionParts:
        api: Any = types.SimpleNamespace(
            references=lambda: None, owns=lambda _name: False, open_packages=lambda: types.SimpleNamespace(used=None)
        )
        repl: Any = types.SimpleNamespace(user_values=lambda _owns: {}, flags=0)
        loop: Any = types.SimpleNamespace(loop=None, is_saving=False)
        start = (list(sys.path), environment, folder, list(warnings.filters))
        return checkpoints.SessionParts(repl, api, loop, start, may_fork=True)

    def test_has_the_proxy_the_certificate_and_the_keys_of_its_own_sandbox(self) -> None:
        channel: Any = None
        mine = {"HTTPS_PROXY": "http://127.0.0.1:1", "SSL_CERT_FILE": "/tmp/bridge-ca-1.pem", "API_KEY": "one"}
        other = {"HTTPS_PROXY": "http://127.0.0.1:2", "SSL_CERT_FILE": "/tmp/bridge-ca-2.pem", "API_KEY": "two"}
        with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {}, clear=True):
            os.environ.update(mine)
            before = checkpoints.Checkpoints(channel, self.parts(dict(os.environ), folder))
            os.environ["OF_CODE"] = "kept"
            facts = before._facts()  # noqa: SLF001
            os.environ.clear()
            os.environ.update(other)
            after = checkpoints.Checkpoints(channel, self.parts(dict(os.environ), folder))
            here = os.getcwd()
            asyncio.run(after._apply(facts))  # noqa: SLF001
            os.chdir(here)
            self.assertEqual(dict(os.environ), {**other, "OF_CODE": "kept"})


class Explanations(unittest.TestCase):
    def test_network_packages_are_of_use(self) -> None:
        self.assertIn("no sandbox has a network", unavailable.why_missing("requests"))
        with patch.object(unavailable, "has_egress", True):
            self.assertEqual(unavailable.why_missing("requests"), "install it: await runtime.install('requests')")


def _read_all(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


if __name__ == "__main__":
    unittest.main()
