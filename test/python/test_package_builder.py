from __future__ import annotations

import base64
import contextlib
import fcntl
import http.server
import json
import os
import stat
import sys
import tempfile
import threading
import time
import unittest
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
        failure = builder.explain_pip(text, {"uploaded_before": None})
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

    def test_the_network_and_the_index_are_told_apart(self) -> None:
        for text, kind in (
            ("ERROR: Could not install: Temporary failure in name resolution", "network"),
            ("ERROR: HTTPConnectionPool(host='x'): Max retries exceeded with url: /simple/a/", "index"),
            ("ERROR: x (from versions: none)\nERROR: No matching distribution found for a", "missing"),
            ("ERROR: something new", "tool"),
        ):
            self.assertEqual(self.explain(text)[0], kind)

    def test_an_index_without_upload_times_is_told_apart_from_a_missing_package(self) -> None:
        job = {"uploaded_before": "2026-01-01T00:00:00Z"}
        failure = builder.explain_pip("ERROR: Index http://x/simple does not provide upload-time metadata.", job)
        self.assertEqual(failure.kind, "age")
        self.assertIn("http://x/simple gives no upload times", str(failure))


class IndexTest(unittest.TestCase):
    def test_credentials_are_taken_out_of_addresses(self) -> None:
        url = "https://ada:s%40cret@pypi.example:8443/simple/"
        self.assertEqual(builder.without_credentials(url), "https://pypi.example:8443/simple/")
        self.assertEqual(builder.credentials_of(url), "ada:s@cret")
        self.assertEqual(builder.origin_of(url), ("https", "pypi.example:8443"))

    def test_a_redirect_to_another_host_takes_no_credentials_along(self) -> None:
        got: list[tuple[str, str | None]] = []
        with serving(lambda handler: got.append(("other", handler.headers["Authorization"]))) as other:

            def redirect(handler: http.server.BaseHTTPRequestHandler) -> None:
                got.append((handler.path, handler.headers["Authorization"]))
                if handler.path != "/end":
                    target = f"{other}/x" if handler.path == "/away" else "/end"
                    answer(handler, 302, {"Location": target})

            with serving(redirect) as own:
                index = self.index(own.replace("//", "//ada:secret@"))
                for path in ("/stay", "/away"):
                    with index.open(own + path):
                        pass
        basic = "Basic " + base64.b64encode(b"ada:secret").decode()
        self.assertEqual(got, [("/stay", basic), ("/end", basic), ("/away", basic), ("other", None)])

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
        for body in (b"[" * 100_000, b'{"files": [{}]}', b"x" * 9):

            def give(handler: http.server.BaseHTTPRequestHandler, body: bytes = body) -> None:
                answer(handler, 200, {"Content-Type": "application/json"}, body)

            with serving(give) as own, self.subTest(body[:9]), self.assertRaisesRegex(builder.JobError, "not that"):
                self.index(own).files_of("x")
        with mock.patch.object(builder, "_MAX_INDEX_BYTES", 8), serving(give) as own:
            self.assertRaisesRegex(builder.JobError, "does not end", self.index(own).files_of, "x")

    def index(self, url: str) -> builder.Index:
        store: Any = None
        return builder.Index({"index": {"url": url, "extra": [], "proxies": {}}}, store)


def answer(
    handler: http.server.BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes | None = None
) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body or b"")


@contextlib.contextmanager
def serving(respond: Callable[[http.server.BaseHTTPRequestHandler], object]) -> Generator[str]:
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
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class PlanTest(unittest.TestCase):
    """What pip chose, which follows from what wheels say about themselves."""

    def item(self, url: str, **more: object) -> dict[str, Any]:
        source = {"url": url, "archive_info": {"hashes": {"sha256": "a" * 64}}}
        return {"download_info": source, "metadata": {"name": "a", "version": "1"}, **more}

    def test_only_wheels_of_the_index_are_taken(self) -> None:
        good = "https://x/a-1-py3-none-any.whl"
        self.assertEqual(builder.planned(self.item(good))["file"], "a-1-py3-none-any.whl")
        for item in (
            self.item(good, is_direct=True),
            self.item("https://x/a-1.tar.gz"),
            self.item("https://x/a%0A%1B%5B2J-1-py3-none-any.whl"),
        ):
            with self.assertRaisesRegex(builder.JobError, "not as a wheel from the index"):
                builder.planned(item)

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
