from __future__ import annotations

import fcntl
import json
import os
import stat
import tempfile
import time
import unittest
import zipfile
from typing import Any

from package_builder import builder


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

    def extract(self, entries: list[tuple[str, bytes, int]], max_bytes: int = 1 << 20) -> list[str]:
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

    def test_a_file_that_is_there_twice_is_refused(self) -> None:
        with self.assertWarns(UserWarning), self.assertRaises(FileExistsError):
            self.extract([("a/x.py", b"1", 0o100644), ("a/x.py", b"2", 0o100644)])

    def test_bombs_and_wheels_beyond_the_limit_are_refused(self) -> None:
        with self.assertRaisesRegex(builder.JobError, "more than 200 times its size"):
            self.extract([("a/zeros", bytes(8 << 20), 0o100644)], 1 << 30)
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


if __name__ == "__main__":
    unittest.main()
