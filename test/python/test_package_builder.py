from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import http.client
import http.server
import io
import json
import os
import re
import socket
import ssl
import stat
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import zipfile
from typing import TYPE_CHECKING, Any
from unittest import mock

from package_builder import builder

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


class StoreTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def test_what_a_killed_builder_left_is_removed_and_what_a_living_one_has_stays(self) -> None:
        living = builder.Store(self.root)
        dead = os.path.join(self.root, "tmp", "dead")
        os.mkdir(dead)
        with open(f"{dead}.lock", "w", encoding="ascii"):
            pass
        new = builder.Store(self.root)
        self.assertFalse(os.path.exists(dead))
        self.assertFalse(os.path.exists(f"{dead}.lock"))
        self.assertTrue(os.path.isdir(living.own))
        for store in (living, new):
            store.close()
        self.assertEqual(os.listdir(os.path.join(self.root, "tmp")), ["work"])

    def test_others_cannot_look_into_what_is_being_built(self) -> None:
        store = builder.Store(self.root)
        self.assertEqual(stat.S_IMODE(os.stat(store.tmp).st_mode), 0o700)
        store.close()

    def test_sessions_can_enter_sets_and_neither_list_nor_guess_them(self) -> None:
        # As an earlier version made it.
        for name in ("wheels", "sets", "tools"):
            os.mkdir(os.path.join(self.root, name), 0o755)
        store = builder.Store(self.root)
        modes = {name: stat.S_IMODE(os.stat(os.path.join(self.root, name)).st_mode) for name in os.listdir(self.root)}
        self.assertEqual(modes, {"wheels": 0o700, "sets": 0o711, "tools": 0o700, "tmp": 0o700})
        with tempfile.TemporaryDirectory() as folder:
            other = builder.Store(folder)
            ids = [builder.publish_set([{"sha256": "a" * 64}], each) for each in (store, store, other)]
            other.close()
        self.assertEqual(ids[0], ids[1])
        self.assertNotEqual(ids[0], ids[2])
        store.close()

    def test_wheels_of_the_operator_are_copied_and_what_it_lacks_is_fetched(self) -> None:
        operator = builder.Store(os.path.join(self.root, "operator"))
        os.makedirs(os.path.join(operator.wheels, "a" * 64, "a"))
        with open(os.path.join(operator.wheels, "a" * 64, "a", "__init__.py"), "w", encoding="ascii") as file:
            file.write("x = 1")
        operator.close()
        os.close(operator.work_lock)
        own = builder.Store(os.path.join(self.root, "own"))
        self.addCleanup(own.close)
        wheels = [
            {"name": name, "version": "1", "file": f"{name}.whl", "url": f"http://x/{name}", "sha256": name * 64}
            for name in ("a", "b")
        ]
        fetched: list[str] = []

        def unpack(_: builder.Download, wheel: dict[str, Any], folder: str) -> None:
            fetched.append(wheel["name"])
            os.mkdir(folder)
            # Meanwhile, the operator's builders may remove what they like.
            pruning = builder.Store(os.path.join(self.root, "operator"))
            self.assertTrue(builder.is_alone(pruning))
            pruning.close()
            os.close(pruning.work_lock)

        with contextlib.redirect_stdout(io.StringIO()), mock.patch.object(builder.Download, "unpack", unpack):
            builder.fetch_all(wheels, index_of(own), own, 1 << 30, os.path.join(self.root, "operator"))
        self.assertEqual(fetched, ["b"])
        with builder.unchanged(os.path.join(self.root, "operator")) as is_there:
            self.assertTrue(is_there)
            pruning = builder.Store(os.path.join(self.root, "operator"))
            self.assertFalse(builder.is_alone(pruning))
            pruning.close()
        self.assertTrue(os.path.isfile(os.path.join(own.wheels, "a" * 64, "a", "__init__.py")))
        with contextlib.redirect_stdout(io.StringIO()), self.assertRaisesRegex(builder.JobError, "larger than"):
            full = builder.Store(os.path.join(self.root, "full"))
            self.addCleanup(full.close)
            builder.fetch_all(wheels[:1], index_of(full), full, 10, os.path.join(self.root, "operator"))

    def test_a_set_that_two_builders_make_appears_once(self) -> None:
        one, two = builder.Store(self.root), builder.Store(self.root)
        wheel = {"name": "a", "version": "1", "file": "a.whl", "url": "http://x/a.whl", "sha256": "a" * 64}
        os.makedirs(os.path.join(one.wheels, "a" * 64, "a"))
        with open(os.path.join(one.wheels, "a" * 64, "a", "__init__.py"), "w", encoding="ascii") as file:
            file.write("x = 1")
        first = builder.publish_set([wheel], one)
        self.assertEqual(builder.publish_set([wheel], two), first)
        made = os.path.join(one.sets, first)
        self.assertEqual(sorted(os.listdir(made)), ["lib", "lock", "manifest.json"])
        with open(os.path.join(made, "manifest.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["packages"], [wheel])
        # Wheels and sets share their files.
        self.assertEqual(os.stat(os.path.join(made, "lib", "a", "__init__.py")).st_nlink, 2)
        # A session locks the set that it uses.
        with open(os.path.join(made, "lock"), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        for store in (one, two):
            store.close()


class PruneTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = builder.Store(folder.name)
        self.addCleanup(self.store.close)

    def make_set(self, *wheels: str) -> str:
        """A set of wheels with a file of 64 KiB each."""
        for name in wheels:
            folder = os.path.join(self.store.wheels, name, name)
            if not os.path.isdir(folder):
                os.makedirs(folder)
                with open(os.path.join(folder, "data"), "wb") as file:
                    file.write(os.urandom(1 << 16))
        return builder.publish_set([{"sha256": name} for name in wheels], self.store)

    def prune(self, max_bytes: int, used: list[str], kept: str | None, max_age: int | None = None) -> list[str] | None:
        """Prunes a store whose sets were used an hour ago, the last one of `used` last."""
        hour_ago = time.time() - 3600
        used_at = {identity: hour_ago + position for position, identity in enumerate(used)}
        return builder.prune(self.store, {"max_bytes": max_bytes, "max_age": max_age, "used_at": used_at}, kept)

    def sets(self) -> set[str]:
        return set(os.listdir(self.store.sets))

    def test_nothing_is_removed_while_the_store_fits(self) -> None:
        one, two = self.make_set("a"), self.make_set("a", "b")
        self.prune(1 << 20, [], two)
        self.assertEqual(self.sets(), {one, two})

    def test_the_least_recently_used_sets_go_first_with_the_wheels_that_only_they_have(self) -> None:
        older, old, new, kept = self.make_set("a"), self.make_set("b"), self.make_set("c"), self.make_set("d", "b")
        self.assertEqual(self.prune(3 << 16, [older, old, new, kept], kept), [older])
        self.assertEqual(self.sets(), {old, new, kept})
        self.assertEqual(sorted(os.listdir(self.store.wheels)), ["b", "c", "d"])
        self.prune(2 << 16, [old, new, kept], kept)
        self.assertEqual(self.sets(), {kept})

    def test_sets_that_were_not_used_for_too_long_go_even_if_the_store_fits(self) -> None:
        used, unknown = self.make_set("a"), self.make_set("b")
        self.assertEqual(self.prune(1 << 30, [used], None, max_age=7200), [])
        # No session of this host used the other; it is as old as its folder.
        self.assertEqual(self.prune(1 << 30, [used], None, max_age=1800), [used])
        self.assertEqual(self.sets(), {unknown})
        manifest = os.path.join(self.store.sets, unknown, "manifest.json")
        os.utime(manifest, (1, 1))
        self.assertEqual(self.prune(1 << 30, [], None, max_age=1800), [unknown])
        self.assertEqual(os.listdir(self.store.wheels), [])

    def test_wheels_that_a_killed_builder_put_into_no_set_go(self) -> None:
        kept = self.make_set("a")
        os.makedirs(os.path.join(self.store.wheels, "b", "b"))
        self.prune(1 << 30, [], kept)
        self.assertEqual(os.listdir(self.store.wheels), ["a"])

    def test_a_set_in_use_stays(self) -> None:
        used, kept = self.make_set("a"), self.make_set("b")
        with open(os.path.join(self.store.sets, used, "lock"), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            self.prune(1, [], kept)
        self.assertEqual(self.sets(), {used, kept})

    def test_sessions_that_hold_all_locks_cannot_make_the_store_grow_without_end(self) -> None:
        used = self.make_set("a", "b")
        job = {"max_bytes": 1 << 10, "max_age": None, "used_at": {}}
        with open(os.path.join(self.store.sets, used, "lock"), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            self.assertRaisesRegex(builder.JobError, "the store is full", builder.make_room, self.store, job)
            self.assertEqual(self.sets(), {used})
        builder.make_room(self.store, job)
        self.assertEqual(self.sets(), set())
        # Others may work in the store again.
        other = builder.Store(os.path.dirname(self.store.tmp))
        other.close()

    def test_nothing_is_removed_while_another_builder_works(self) -> None:
        other = builder.Store(os.path.dirname(self.store.sets))
        self.addCleanup(other.close)
        one, kept = self.make_set("a"), self.make_set("b")
        self.assertIsNone(self.prune(1, [], kept))
        self.assertEqual(self.sets(), {one, kept})
        with self.assertRaisesRegex(builder.JobError, "nothing was removed"):
            builder.remove_sets(self.store, {"sets": [one]})


class ExtractTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def extract(
        self, entries: list[tuple[str, bytes, int]], max_bytes: int = 1 << 20, packed: int | None = None
    ) -> list[str]:
        """Unpacks an archive with these names, contents and modes; returns what is there then, outside too."""
        path = os.path.join(self.root, "x.whl")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content, mode in entries:
                entry = zipfile.ZipInfo(name)
                entry.external_attr = mode << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, content)
        download: Any = builder.Download(None, None, max_bytes)  # pyright: ignore[reportArgumentType]
        target = os.path.join(self.root, "out", "wheel")
        os.makedirs(os.path.dirname(target))
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist() if packed is not None else []:
                entry.compress_size = packed or 0
            download.extract(archive, "x.whl", target)
        found = [os.path.join(folder, name) for folder, _, files in os.walk(self.root) for name in files]
        return sorted(os.path.relpath(name, target) for name in found if not name.endswith("x.whl"))

    def test_a_wheel_gives_its_modules_and_metadata(self) -> None:
        entries = [
            ("a/__init__.py", b"", 0o100644),
            ("a/", b"", 0o040755),
            ("a-1.dist-info/METADATA", b"", 0),
            ("a-1.data/purelib/b.py", b"", 0o100644),
            ("a-1.data/platlib/c.so", b"", 0o100755),
            ("a-1.data/scripts/run", b"", 0o100755),
            ("a-1.data/data/etc/passwd", b"", 0o100644),
            ("a-1.data/headers/a.h", b"", 0o100644),
        ]
        self.assertEqual(self.extract(entries), ["a-1.dist-info/METADATA", "a/__init__.py", "b.py", "c.so"])

    def test_names_that_leave_the_folder_are_refused(self) -> None:
        names = ("../x", "a/../../x", "/etc/x", "a//x", "./x", "a\\x", "a-1.data/purelib/../../x", "a/" + "x" * 999)
        for name in names:
            with self.subTest(name), tempfile.TemporaryDirectory() as self.root:
                self.assertRaisesRegex(
                    builder.JobError, "unusable name", self.extract, [(name, b"", 0o100644)]
                )  # fmt: skip
                self.assertEqual(os.listdir(os.path.join(self.root, "out", "wheel")), [])

    def test_only_regular_files_are_unpacked(self) -> None:
        for mode in (0o120777, 0o010644, 0o020644, 0o060644, 0o140755):
            with self.subTest(oct(mode)), tempfile.TemporaryDirectory() as self.root:
                entry = ("a/x", b"/etc/passwd", mode)
                self.assertRaisesRegex(builder.JobError, "not a regular file", self.extract, [entry])

    def test_nothing_keeps_the_mode_of_the_archive(self) -> None:
        self.extract([("a/x", b"", 0o104777)])
        mode = os.stat(os.path.join(self.root, "out", "wheel", "a", "x")).st_mode
        self.assertFalse(mode & (stat.S_ISUID | stat.S_ISGID | stat.S_IWOTH))

    def test_compiled_modules_count_against_the_limit(self) -> None:
        # Each `finally` doubles the code.
        lines = ["def f():"]
        for depth in range(1, 13):
            lines += ["  " * depth + "try: g()", "  " * depth + "finally:"]
        source = "\n".join([*lines, "  " * 13 + "g()", ""])
        folder = os.path.join(self.root, "wheel")
        os.makedirs(folder)
        with open(os.path.join(folder, "a.py"), "w", encoding="ascii") as file:
            file.write(source)
        download: Any = builder.Download(None, None, 10_000)  # pyright: ignore[reportArgumentType]
        self.assertRaisesRegex(builder.JobError, "larger than the limit", download.compile, folder)

    def test_a_file_that_is_there_twice_is_refused(self) -> None:
        with self.assertWarns(UserWarning), self.assertRaises(FileExistsError):
            self.extract([("a/x.py", b"1", 0o100644), ("a/x.py", b"2", 0o100644)])

    def test_bombs_and_wheels_beyond_the_limit_are_refused(self) -> None:
        with self.assertRaisesRegex(builder.JobError, "more than 200 times its size"):
            self.extract([("a/zeros", bytes(8 << 20), 0o100644)], 1 << 30)
        with tempfile.TemporaryDirectory() as self.root:
            # What the entries say about their packed sizes does not count.
            zeros = ("a/zeros", bytes(8 << 20), 0o100644)
            self.assertRaisesRegex(builder.JobError, "200 times", self.extract, [zeros], 1 << 30, packed=1 << 40)
        with tempfile.TemporaryDirectory() as self.root:
            entry = ("a/x", os.urandom(4096), 0o100644)
            self.assertRaisesRegex(builder.JobError, "larger than the limit", self.extract, [entry], 1024)


class ExplainTest(unittest.TestCase):
    def explain(self, text: str) -> tuple[str, str]:
        failure = builder.explain_pip(text, {"uploaded_before": None}, index_of(None))
        return failure.kind, str(failure)

    def test_the_reason_of_pip_has_at_most_two_lines(self) -> None:
        conflict = (
            "ERROR: Cannot install a==1 and b==1 because these package versions have conflicting dependencies.\n\n"
            "The conflict is caused by:\n    a 1 depends on c<2\n    b 1 depends on c>=2\n\n"
            "To fix this you could try to:\n1. loosen the range\nERROR: ResolutionImpossible: for help visit https://x\n"
        )
        kind, reason = self.explain(conflict)
        self.assertEqual(kind, "conflict")
        self.assertEqual(len(reason.splitlines()), 2)
        self.assertIn("Cannot install a==1 and b==1", reason)

    def test_a_missing_package_is_told_apart_from_anything_else(self) -> None:
        for text, kind in (
            ("ERROR: x (from versions: none)\nERROR: No matching distribution found for a", "missing"),
            ("ERROR: something new", "tool"),
        ):
            self.assertEqual(self.explain(text)[0], kind)


class IndexTest(unittest.TestCase):
    def test_credentials_are_taken_out_of_addresses(self) -> None:
        url = "https://ada:s%40cret@pypi.example:8443/simple/"
        self.assertEqual(builder.without_credentials(url), "https://pypi.example:8443/simple/")
        self.assertEqual(builder.credentials_of(url), "ada:s@cret")
        self.assertEqual(builder.origin_of(url), ("https", "pypi.example:8443"))
        for same in ("https://ada:x@PyPI.example/simple", "https://pypi.example:443/files/a.whl"):
            self.assertEqual(builder.origin_of(same), ("https", "pypi.example"))

    def test_a_redirect_to_another_host_takes_no_credentials_along(self) -> None:
        got: list[tuple[str, str | None]] = []
        with serving(lambda handler: got.append(("other", handler.headers["Authorization"]))) as other:

            def redirect(handler: http.server.BaseHTTPRequestHandler) -> None:
                got.append((handler.path, handler.headers["Authorization"]))
                if handler.path != "/end":
                    target = f"{other}/x" if handler.path == "/away" else "/end"
                    # Python 3.10 does not know the second.
                    answer(handler, 302 if handler.path == "/away" else 308, {"Location": target})

            with serving(redirect) as own:
                index = self.index(own.replace("//", "//ada:secret@"))
                for path in ("/stay", "/away"):
                    with index.open(own + path):
                        pass
        basic = "Basic " + base64.b64encode(b"ada:secret").decode()
        self.assertEqual(got, [("/stay", basic), ("/end", basic), ("/away", basic), ("other", None)])

    # As for projects of GitLab, each with a token of its own. The first of the host was taken.
    def test_of_two_indexes_on_a_host_each_gets_its_own_credentials(self) -> None:
        got: dict[str, str] = {}

        def note(handler: http.server.BaseHTTPRequestHandler) -> None:
            got[handler.path] = base64.b64decode(handler.headers["Authorization"].removeprefix("Basic ")).decode()

        with serving(note) as own:
            urls = [own.replace("//", f"//{name}:x@") + f"/projects/{name}/simple" for name in ("a", "b")]
            for path in ("/projects/a/files/1.whl", "/projects/b/files/1.whl", "/projects/b/simple/c/", "/other"):
                with index_of(None, *urls).open(own + path):
                    pass
        self.assertEqual([login[0] for login in got.values()], ["a", "b", "b", "a"])

    def test_only_http_is_opened_and_followed(self) -> None:
        targets = ("file:///etc/passwd", "ftp://127.0.0.1/x", "data:text/plain,x")

        def redirect(handler: http.server.BaseHTTPRequestHandler) -> None:
            answer(handler, 302, {"Location": targets[int(handler.path[1:])]})

        with serving(redirect) as own:
            index = self.index(own)
            for number, target in enumerate(targets):
                for url in (target, f"{own}/{number}"):
                    with (
                        self.subTest(url),
                        self.assertRaisesRegex(builder.JobError, "not an http or https address|is not allowed"),
                    ):
                        index.open(url)

    # An index on the internet could ask ports of this machine and of its networks, by links and by redirects.
    def test_what_an_index_on_the_internet_names_is_not_asked_for_here(self) -> None:
        heard: list[str] = []
        with serving(lambda handler: heard.append(handler.path)) as other:

            def redirect(handler: http.server.BaseHTTPRequestHandler) -> None:
                answer(handler, 302, {"Location": f"{other}/redirected"})

            with serving(redirect) as own:
                index = self.index(own)
                # As if it had been reached there.
                index.addresses.reached["127.0.0.1"] = {"93.184.216.34"}
                for url, page in ((f"{other}/linked", own), (f"{other}/locked", None), (f"{own}/away", None)):
                    with self.subTest(url), self.assertRaisesRegex(builder.JobError, "an address of this machine"):
                        index.open(url, page)
                for scheme in ("http", "https"):
                    index = self.index("https://93.184.216.34/simple")
                    with (
                        mock.patch.dict(os.environ, {f"{scheme}_proxy": own, "no_proxy": ""}),
                        self.assertRaisesRegex(builder.JobError, "an address of this machine"),
                    ):
                        index.open(f"{scheme}://127.0.0.2/x", index.urls[0])
        self.assertEqual(heard, [])

    def test_an_index_may_name_its_own_network_but_not_this_machine(self) -> None:
        addresses = builder.Addresses(["https://10.0.0.1/simple", "https://127.0.0.1/simple", "https://8.8.8.8/simple"])
        refused = {
            "https://10.0.0.1/x": ["127.0.0.1", "::1", "::", "0.0.0.0", "169.254.169.254", "fe80::1%eth0"],
            "https://127.0.0.1/x": ["169.254.169.254", "fe80::1%eth0"],
            "https://8.8.8.8/x": ["10.1.2.3", "127.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254",
                                  "::1", "fc00::1", "fe80::1%eth0", "fec0::1", "224.0.0.1", "64:ff9b::a00:1",
                                  "2002:a00:1::", "::ffff:10.0.0.1", "::10.0.0.1", "0.0.0.0", "::"],
        }  # fmt: skip
        named = {each for places in refused.values() for each in places}
        places = sorted(named | {"1.1.1.1", "2606:4700:4700::1111"})
        for named_by, expected in refused.items():
            found = [place for place in places if addresses.is_refused(place, named_by)]
            self.assertEqual(found, sorted(expected), named_by)

    def test_a_host_that_sends_too_slowly_is_given_up(self) -> None:
        def drip(handler: http.server.BaseHTTPRequestHandler) -> None:
            answer(handler, 200, {"Content-Type": "application/json"})
            with contextlib.suppress(OSError):
                while True:
                    handler.wfile.write(b" ")
                    handler.wfile.flush()

        slow = mock.patch.multiple(builder, _PACE_SECONDS=0.05, _PACE_BYTES=1 << 40)
        with serving(drip) as own, slow, self.assertRaisesRegex(builder.JobError, "sent only"):
            self.index(own).files_of("x")

    def test_an_answer_without_end_and_rubbish_are_reported(self) -> None:
        for body in (b"[" * 100_000, b'{"files": [{}]}', b'{"files": 1}', b"x" * 9):

            def give(handler: http.server.BaseHTTPRequestHandler, body: bytes = body) -> None:
                answer(handler, 200, {"Content-Type": "application/json"}, body)

            with serving(give) as own, self.subTest(body[:9]), self.assertRaisesRegex(builder.JobError, "not that"):
                self.index(own).files_of("x")
        with mock.patch.object(builder, "_MAX_INDEX_BYTES", 8), serving(give) as own:
            self.assertRaisesRegex(builder.JobError, "does not end", self.index(own).files_of, "x")

    def index(self, url: str) -> builder.Index:
        store: Any = None
        return index_of(store, url)


def index_of(store: Any, *urls: str, **more: object) -> builder.Index:
    source = {"urls": urls, "links": [], "absent": {}, "trusted": [], "certificates": None, "proxies": {}}
    return builder.Index({"index": {**source, **more}}, store)


def answer(
    handler: http.server.BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes | None = None
) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body or b"")


@contextlib.contextmanager
def serving(
    respond: Callable[[http.server.BaseHTTPRequestHandler], object], tls: ssl.SSLContext | None = None
) -> Generator[str]:
    """A server on this machine; what `respond` does not answer is answered with an empty page."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            respond(self)
            if not self._headers_sent:
                answer(self, 200, {})

        @property
        def _headers_sent(self) -> bool:
            return self.sent

        sent = False

        def send_response(self, code: int, message: str | None = None) -> None:
            self.sent = True
            super().send_response(code, message)

        def log_message(self, *args: object, **more: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def made_wheel(name: str, version: str = "1.0", *requires: str) -> tuple[str, bytes]:
    """File name and content of a wheel with one module."""
    info = f"{name}-{version}.dist-info"
    metadata = [
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}",
        *(f"Requires-Dist: {one}" for one in requires),
    ]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{name}/__init__.py", f"version = {version!r}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/METADATA", "\n".join(metadata) + "\n")
        archive.writestr(f"{info}/RECORD", "")
    return f"{name}-{version}-py3-none-any.whl", file.getvalue()


class FormsTest(unittest.TestCase):
    """Indexes as companies have them, and what pip sees of them; pip itself is in the integration tests."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = builder.Store(folder.name)
        self.addCleanup(self.store.close)
        self.asked: list[str] = []
        self.pages: dict[str, tuple[str, bytes]] = {}
        served = serving(self.respond)
        self.own = served.__enter__()
        self.addCleanup(served.__exit__, None, None, None)

    def respond(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        self.asked.append(handler.path)
        page = self.pages.get(handler.path)
        if page is None:
            answer(handler, 404, {"Content-Length": "0"})
            return
        answer(handler, 200, {"Content-Type": page[0], "Content-Length": str(len(page[1]))}, page[1])

    def add(self, path: str, *wheels: tuple[str, bytes]) -> None:
        for name, content in wheels:
            self.pages[f"{path}{name}"] = ("application/octet-stream", content)

    def html(self, path: str, *links: str) -> None:
        lines = "".join(f"<a {link}>x</a><br/>\n" for link in links)
        self.pages[path] = ("text/html", f"<!DOCTYPE html><html><body>{lines}</body></html>".encode())

    def json(self, path: str, *files: dict[str, object]) -> None:
        body = {"meta": {"api-version": "1.0"}, "name": "x", "files": [{"hashes": {}, **file} for file in files]}
        self.pages[path] = ("application/vnd.pypi.simple.v1+json", json.dumps(body).encode())

    def build(
        self, name: str, before: str | None = None, urls: list[str] | None = None, links: list[str] | None = None
    ) -> list[str]:
        """Takes the newest version of a package and of what it needs, as pip does. Returns names and versions."""
        index = index_of(self.store, *(urls or []), links=links or [])
        source = builder.PipIndex(index, before)
        self.addCleanup(source.close)
        chosen: list[builder.IndexFile] = []
        names = [name]
        for each in names:
            page = f"{source.url}/{each}/"
            files = json.loads(self.passed_on(source, page))["files"]
            best = max((file for file in files if not file["yanked"]), key=lambda file: file["filename"])
            url = urllib.parse.urljoin(page, best["url"])
            metadata = self.passed_on(source, f"{url}.metadata").decode()
            names.extend(
                need.replace("_", "-") for need in re.findall(r"^Requires-Dist: (\w+)", metadata, re.MULTILINE)
            )
            file = source.file_of(url)
            assert file is not None
            chosen.append(file)
        wheels = [builder.locked(file.project, file.version, file, index) for file in chosen]
        with contextlib.redirect_stdout(io.StringIO()):
            builder.fetch_all(wheels, index, self.store, 1 << 30)
        for wheel in wheels:
            self.assertRegex(wheel["sha256"], "^[0-9a-f]{64}$")
            module = wheel["name"].replace("-", "_")
            self.assertTrue(os.path.isdir(os.path.join(self.store.wheels, wheel["sha256"], module)))
        return sorted(f"{wheel['name']} {wheel['version']}" for wheel in wheels)

    def passed_on(self, source: builder.PipIndex, url: str) -> bytes:
        content = source.answer(url)
        if source.failure is not None:
            raise source.failure
        assert isinstance(content, bytes)
        return content

    def test_html_with_hashes_and_without_upload_times(self) -> None:
        top, low = made_wheel("top_pkg", "2.0", "low_pkg>=1"), made_wheel("low_pkg")
        self.add("/files/", top, low, made_wheel("top_pkg", "3.0"))
        sha256 = hashlib.sha256(top[1]).hexdigest()
        self.html(
            "/simple/top-pkg/",
            f'href="../../files/{top[0]}#sha256={sha256}" data-requires-python="&gt;=3.8"',
            'href="../../files/top_pkg-3.0-py3-none-any.whl" data-yanked="broken"',
            'href="../../files/top_pkg-4.0.tar.gz#sha256=0"',
        )
        self.html("/simple/low-pkg/", f'href="{self.own}/files/{low[0]}" data-requires-python=">=3.8"')
        urls = [f"{self.own}/simple"]
        self.assertEqual(self.build("top-pkg", urls=urls), ["low-pkg 1.0", "top-pkg 2.0"])
        with self.assertRaisesRegex(builder.JobError, "127.0.0.1:\\d+ gives no upload times, so the minimum") as raised:
            self.build("top-pkg", before="2026-01-01T00:00:00Z", urls=urls)
        self.assertEqual(raised.exception.kind, "times")

    def test_a_file_that_is_not_the_one_of_its_page_is_refused(self) -> None:
        wheel = made_wheel("changed")
        self.add("/simple/changed/", wheel)
        self.html("/simple/changed/", f'href="{wheel[0]}#sha256={"0" * 64}"')
        with self.assertRaisesRegex(builder.JobError, "has the SHA-256"):
            self.build("changed", urls=[f"{self.own}/simple"])

    def test_json_with_and_without_upload_times(self) -> None:
        old, new = made_wheel("timed", "1.0"), made_wheel("timed", "2.0")
        self.add("/simple/timed/", old, new)
        self.json(
            "/simple/timed/",
            {"filename": old[0], "url": old[0], "upload-time": "2020-01-01T00:00:00.000000Z"},
            {"filename": new[0], "url": new[0], "upload-time": "2026-06-01T00:00:00.000000Z"},
        )
        urls = [f"{self.own}/simple/"]
        self.assertEqual(self.build("timed", before="2026-01-01T00:00:00Z", urls=urls), ["timed 1.0"])
        self.assertEqual(self.build("timed", urls=urls), ["timed 2.0"])

    def test_a_folder_behind_a_web_server(self) -> None:
        wheel = made_wheel("in_folder", "1.0+local")
        quoted = wheel[0].replace("+", "%2B")
        self.add("/wheels/", (quoted, wheel[1]))
        self.html("/wheels/", 'href="../"', f'href="{quoted}"', 'href="?C=M;O=A"', 'href="notes.txt"')
        self.assertEqual(self.build("in-folder", links=[f"{self.own}/wheels/"]), ["in-folder 1.0+local"])
        # It was fetched once, although its metadata and its hash had to be read from it.
        self.assertEqual(self.asked.count(f"/wheels/{quoted}"), 2)

    def test_a_page_of_links_comes_before_the_indexes(self) -> None:
        linked, listed = made_wheel("both", "1.0"), made_wheel("both", "2.0")
        self.add("/wheels/", linked)
        self.add("/simple/both/", listed)
        self.html("/wheels/", f'href="{linked[0]}"')
        self.json("/simple/both/", {"filename": listed[0], "url": listed[0]})
        urls = [f"{self.own}/simple"]
        self.assertEqual(self.build("both", urls=urls, links=[f"{self.own}/wheels/"]), ["both 1.0"])
        self.assertNotIn("/simple/both/", self.asked)
        self.assertEqual(self.build("both", urls=urls), ["both 2.0"])

    def test_an_image_without_pip_gets_one_and_the_reason_if_it_cannot(self) -> None:
        pip = made_wheel("pip", "26.0")
        self.add("/simple/pip/", pip)
        self.html("/simple/pip/", f'href="{pip[0]}"', 'href="pip-21.0-py3-none-any.whl"')
        job: dict[str, Any] = {"uploaded_before": None, "max_bytes": 1 << 30}
        young = {**job, "uploaded_before": "2026-01-01T00:00:00Z"}
        index = index_of(self.store, f"{self.own}/simple")
        out = contextlib.redirect_stdout(io.StringIO())
        known = mock.patch.dict(builder.PIPS, {"26.0": hashlib.sha256(pip[1]).hexdigest()})
        with out, known, mock.patch.object(builder, "_pip_version", return_value=(22, 3)):
            self.assertIsNone(builder.own_pip(young, index, self.store))
        with out, known, mock.patch.object(builder, "_pip_version", return_value=()):
            self.assertRaisesRegex(builder.JobError, "no upload times", builder.own_pip, young, index, self.store)
            elsewhere = index_of(self.store, f"{self.own}/empty")
            self.assertRaisesRegex(builder.JobError, "has no pip", builder.own_pip, job, elsewhere, self.store)
            found = builder.own_pip(job, index, self.store) or ""
        self.assertTrue(os.path.isfile(os.path.join(found, "pip", "__init__.py")))

    # pip is the one thing of an index that runs, with the network of the builder.
    def test_an_index_cannot_choose_the_pip_that_runs(self) -> None:
        job: dict[str, Any] = {"uploaded_before": None, "max_bytes": 1 << 30}
        out = contextlib.redirect_stdout(io.StringIO())
        for number, (version, has_hash, reason) in enumerate(
            (("99.0", True, "has no pip"), ("26.0", True, "has no pip"), ("26.0", False, "SHA-256"))
        ):
            pip = made_wheel("pip", version)
            self.add(f"/hostile{number}/pip/", pip)
            fragment = f"#sha256={hashlib.sha256(pip[1]).hexdigest()}" if has_hash else ""
            self.html(f"/hostile{number}/pip/", f'href="{pip[0]}{fragment}"')
            index = index_of(self.store, f"{self.own}/hostile{number}")
            without = mock.patch.object(builder, "_pip_version", return_value=())
            with self.subTest(version=version, has_hash=has_hash), out, without:
                self.assertRaisesRegex(builder.JobError, reason, builder.own_pip, job, index, self.store)
        self.assertEqual([name for name in os.listdir(self.store.tools) if name.startswith("pip")], [])

    # Anyone could publish the name of a private package on the public index, with a higher version.
    def test_the_public_index_is_not_asked_for_a_name_that_a_private_one_has(self) -> None:
        private, public, dependency = (
            made_wheel("secret_pkg", "1.0", "known"),
            made_wheel("secret_pkg", "99.0"),
            made_wheel("known"),
        )
        self.add("/private/secret-pkg/", private)
        self.add("/public/secret-pkg/", public)
        self.add("/public/known/", dependency)
        self.html("/private/secret-pkg/", f'href="{private[0]}"')
        self.json("/public/secret-pkg/", {"filename": public[0], "url": public[0]})
        self.json("/public/known/", {"filename": dependency[0], "url": dependency[0]})
        urls = [f"{self.own}/private", f"{self.own}/public"]
        self.assertEqual(self.build("secret-pkg", urls=urls), ["known 1.0", "secret-pkg 1.0"])
        self.assertEqual([path for path in self.asked if path.startswith("/public/secret")], [])

    def test_an_index_that_refuses_or_fails_passes_no_name_on(self) -> None:
        public = made_wheel("secret_pkg", "99.0")
        self.json("/public/secret-pkg/", {"filename": public[0], "url": public[0]})
        for status, kind in ((401, "login"), (403, "login"), (500, "index")):

            def refuse(handler: http.server.BaseHTTPRequestHandler, status: int = status) -> None:
                answer(handler, status, {"Content-Length": "0"})

            with serving(refuse) as private, self.assertRaisesRegex(builder.JobError, f"answered {status}") as raised:
                self.build("secret-pkg", urls=[f"{private}/simple", f"{self.own}/public"])
            self.assertEqual(raised.exception.kind, kind)
        self.assertEqual(self.asked, [])

    def test_what_a_package_requires_by_its_address_is_not_asked(self) -> None:
        self.add("/elsewhere/", made_wheel("other"))
        for address in (f"{self.own}/elsewhere/other-1.0-py3-none-any.whl", "https://ada:secret@elsewhere.example:443"):
            source = builder.PipIndex(index_of(self.store, self.own), None)
            self.addCleanup(source.close)
            self.assertIsNone(source.answer(address))
            self.assertRegex(str(source.failure), "elsewhere.* by its address, not as a wheel from the index")
            self.assertNotIn("secret", str(source.failure))
        self.assertEqual(self.asked, [])

    # pip opened files of this machine, and what it said told whether they exist.
    def test_pip_never_sees_an_address_that_a_package_requires(self) -> None:
        addresses = ["file:///etc/hostname", "git+ssh://127.0.0.1/x", f"{self.own}/elsewhere/x-1.0-py3-none-any.whl"]
        forms = [f"x @ {addresses[0]}", f"x[y]@ {addresses[1]} ; python_version > '3'", f"x@{addresses[2]}", "y>=1"]
        name, content = made_wheel("direct_pkg", "1.0", *forms)
        self.add("/files/", (name, content))
        self.html("/simple/direct-pkg/", f'href="../../files/{name}"')
        source = builder.PipIndex(index_of(self.store, f"{self.own}/simple"), None)
        self.addCleanup(source.close)
        page = f"{source.url}/direct-pkg/"
        [file] = json.loads(self.passed_on(source, page))["files"]
        url = urllib.parse.urljoin(page, file["url"])
        metadata = self.passed_on(source, f"{url}.metadata").decode()
        self.assertIn("Requires-Dist: y>=1", metadata)
        shown = re.findall(rf"http://{source.HOST}\S+", metadata)
        self.assertEqual(len(shown), 3)
        self.assertNotRegex(metadata, "etc|127.0.0.1")
        for address, own in zip(addresses, shown, strict=True):
            source.failure = None
            self.assertIsNone(source.answer(own))
            self.assertIn(f"a package requires '{address}' by its address", str(source.failure))
        # A pip that reads the wheel itself.
        source.failure = None
        self.assertIsNone(source.answer(url))
        self.assertIn("a package requires 'file:///etc/hostname' by its address", str(source.failure))
        self.assertNotIn("/elsewhere/x-1.0-py3-none-any.whl", self.asked)

    def test_nobody_else_on_this_machine_learns_what_an_index_has(self) -> None:
        self.html("/simple/a/", 'href="a-1.0-py3-none-any.whl"')
        source = builder.PipIndex(index_of(self.store, f"{self.own}/simple"), None)
        self.addCleanup(source.close)
        place = urllib.parse.urlsplit(source.proxy).netloc
        for path in ("/", "/simple/a/", f"http://{source.HOST}/simple/a/"):
            connection = http.client.HTTPConnection(place)
            connection.request("GET", path)
            self.assertEqual(connection.getresponse().status, 404)
            connection.close()
        self.assertEqual(self.asked, [])

    def test_only_the_end_of_a_large_wheel_is_fetched_for_its_metadata(self) -> None:
        name, content = made_wheel("large", "1.0")
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive, zipfile.ZipFile(io.BytesIO(content)) as small:
            archive.writestr("large/data.bin", os.urandom(1 << 20))
            for entry in small.namelist():
                archive.writestr(entry, small.read(entry))
        whole = file.getvalue()
        spans: list[str | None] = []

        def parts(handler: http.server.BaseHTTPRequestHandler) -> None:
            if handler.path.endswith("/"):
                answer(handler, 200, {"Content-Type": "text/html"}, f'<a href="{name}">'.encode())
                return
            span = handler.headers["Range"]
            spans.append(span)
            if span is None:
                answer(handler, 200, {"Content-Length": str(len(whole))}, whole)
                return
            first, _, last = span.removeprefix("bytes=").partition("-")
            start, end = (int(first), int(last) + 1) if first else (len(whole) - int(last), len(whole))
            answer(handler, 206, {"Content-Range": f"bytes {start}-{end - 1}/{len(whole)}"}, whole[start:end])

        with serving(parts) as own:
            self.assertEqual(self.build("large", urls=[own]), ["large 1.0"])
            # For the metadata, and for the hash.
            self.assertEqual(spans, ["bytes=-65536", None])
            with mock.patch.object(builder, "_TAIL_BYTES", 300):
                self.assertEqual(self.build("large", urls=[own]), ["large 1.0"])


class TrustTest(unittest.TestCase):
    def setUp(self) -> None:
        self.tls = os.path.join(os.path.dirname(__file__), "../fixtures/tls/company")
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(f"{self.tls}.crt", f"{self.tls}.key")

    # Python 3.13 and newer refused it: "Missing Authority Key Identifier".
    def test_the_certificate_of_a_company_is_taken_as_pip_takes_it(self) -> None:
        resolve = socket.getaddrinfo
        with open(f"{self.tls}-ca.crt", encoding="ascii") as file:
            certificates = file.read()

        def local(_: str, *rest: Any, **more: Any) -> Any:
            return resolve("127.0.0.1", *rest, **more)

        with serving(lambda handler: answer(handler, 200, {}, b"hello"), self.context) as own:
            url = own.replace("127.0.0.1", "index.test")
            index = index_of(None, url, certificates=certificates)
            with mock.patch.object(socket, "getaddrinfo", local), index.open(url) as page:
                self.assertEqual(page.read(), b"hello")

    def test_a_certificate_is_checked_unless_the_host_is_trusted(self) -> None:
        with serving(lambda handler: answer(handler, 200, {}, b"hello"), self.context) as own:
            with self.assertRaisesRegex(builder.JobError, "cannot be reached") as raised:
                index_of(None, own).open(own)
            self.assertEqual(raised.exception.kind, "certificate")
            for trusted in ("127.0.0.1", own.removeprefix("https://")):
                with index_of(None, own, trusted=[trusted]).open(own) as page:
                    self.assertEqual(page.read(), b"hello")


class PlanTest(unittest.TestCase):
    """What pip chose, which follows from what wheels say about themselves."""

    def test_only_wheels_of_the_index_are_taken(self) -> None:
        source = builder.PipIndex(index_of(None), None)
        self.addCleanup(source.close)
        for name in ("a-1-py3-none-any.whl", "a-1.tar.gz", "a\n\x1b[2J-1-py3-none-any.whl"):
            source.files.append(builder.IndexFile("https://x/a/", f"https://ada:secret@x/{name}", name))

        def planned(url: str, **more: object) -> tuple[str, str, builder.IndexFile]:
            item = {"download_info": {"url": url}, "metadata": {"name": "a", "version": "1"}, **more}
            return builder.planned(item, source)

        folder = source.url.removesuffix("simple") + "files"
        self.assertEqual(planned(f"{folder}/0/a-1-py3-none-any.whl")[2].filename, "a-1-py3-none-any.whl")
        for url, more in (
            (f"{folder}/0/a-1-py3-none-any.whl", {"is_direct": True}),
            (f"{folder}/1/a-1.tar.gz", {}),
            (f"{folder}/2/a-1-py3-none-any.whl", {}),
            ("https://x/a-1-py3-none-any.whl", {}),
        ):
            with self.subTest(url), self.assertRaisesRegex(builder.JobError, "not as a wheel from the index") as raised:
                planned(url, **more)
            self.assertNotIn("secret", str(raised.exception))

    def test_a_million_dependencies_take_no_time(self) -> None:
        lines = [f"name-{number}; python_version < '1'" for number in range(10_000)]
        items = [{"metadata": {"name": f"p{number}", "requires_dist": lines}} for number in range(100)]
        started = time.monotonic()
        needed_by = builder.needs(items)
        self.assertLess(time.monotonic() - started, 30)
        self.assertEqual(len(needed_by["name-1"]), 100)

    def test_pip_is_ended_if_it_takes_too_long_or_too_much_disk(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            store = builder.Store(root)
            fill = "import os, time; open('x', 'wb').write(os.urandom(1 << 20)); time.sleep(600)"
            command = [sys.executable, "-c", f"import os; os.chdir({store.own!r}); {fill}"]
            for job, patch, reason in (
                ({"max_bytes": 1 << 30}, mock.patch.object(builder, "_RESOLVE_SECONDS", 0), "took more than 0 s"),
                ({"max_bytes": 1 << 10}, contextlib.nullcontext(), "more disk than the limit"),
            ):
                with patch, self.assertRaisesRegex(builder.JobError, reason):
                    builder.run_pip(command, {}, job, store)
            store.close()


if __name__ == "__main__":
    unittest.main()
