"""Fetches packages into the package store, and looks after it.

Run as `python3 -c PROGRAM UID STORE` in a builder sandbox. Reads one job, a line of JSON, from stdin, and writes
reports, lines of JSON, to stdout: `progress`, `resolved` or `set`, then one of `done`, `listed`, `removed`, `checked`
and `failed`. After `resolved` it waits for a line, if the job says so. It ends when its stdin is closed. pip only
chooses versions. This program downloads the wheels itself, checks their hashes and unpacks them, so that nothing in a
wheel is ever executed and it alone decides what a wheel may write.

The store:
    wheels/SHA256/     an unpacked wheel; readable only by builders, like tools and tmp
    sets/ID/lib/       the files of several wheels, as hard links: one entry of `sys.path`
    sets/ID/lock       locked (shared) by each session that uses the set
    tools/             pip, for images that have none, and compiled modules of the standard library
    tmp/               what is being built
    tmp/secret         part of what ids are made of: sessions can neither list sets nor guess the id of one

A folder appears under its final name by one rename. What a killed builder left in `tmp` is not locked, so the next one
removes it. Formats: PEP 427 (wheels), PEP 503, 691 and 700 (indexes), the installation report of pip.
"""

# ruff: noqa: E402
from __future__ import annotations

import os
import sys


def become_builder(uid: int, root: str) -> None:
    """Gives the store to the builder's user and becomes that user, for good."""
    if os.getuid() != 0:
        return
    os.chown(root, uid, uid)
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


if __name__ == "__main__":
    _UID, _ROOT = int(sys.argv[1]), sys.argv[2]
    os.umask(0o022)
    try:
        become_builder(_UID, _ROOT)
    except OSError as refusal:
        print(f'{{"type": "failed", "kind": "store", "reason": "{_ROOT} cannot be used: {refusal.strerror}"}}')
        sys.exit(0)
    # Images often lack compiled modules of the standard library. Not before: root reads nothing that builders wrote.
    sys.pycache_prefix = os.path.join(_ROOT, "tools", "pycache")

import base64
import compileall
import contextlib
import errno
import fcntl
import hashlib
import http.client
import http.server
import importlib.util
import io
import ipaddress
import itertools
import json
import py_compile
import re
import shutil
import socket
import stat
import subprocess
import sysconfig
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from concurrent.futures import Future, ThreadPoolExecutor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from typing import Any

_FIRST_PIP = (22, 2)
"""Has --report, and reads JSON."""
_GOOD_PIP = (23, 3)
"""Reads the metadata of a wheel without fetching the wheel, so it is worth fetching this pip."""
PIPS = {
    "23.3": "bc38bb52bc286514f8f7cb3a1ba5ed100b76aaef29b521d48574329331c5ae7b",
    "23.3.1": "55eb67bb6171d37447e82213be585b75fe2b12b359e993773aca4de9247a052b",
    "23.3.2": "5052d7889c1f9d05224cd41741acb7c5d6fa735ab34e339624a614eaaa7e7d76",
    "24.0": "ba0d021a166865d2265246961bec0152ff124de910c5cc39f1156ce3fa7c69dc",
    "24.1": "a775837439bf5da2c1a0c2fa43d5744854497c689ddbd9344cf3ea6d00598540",
    "24.1.1": "efca15145a95e95c00608afeab66311d40bfb73bb2266a855befd705e6bb15a0",
    "24.1.2": "7cd207eed4c60b0f411b444cd1464198fe186671c323b6cd6d433ed80fc9d247",
    "24.2": "2cd581cf58ab7fcfca4ce8efa6dcacd0de5bf8d0a3eb9ec927e07405f4d9e2a2",
    "24.3": "461877c364317128146d1eb33c62c2a80e33cb23b4cafdf4ad728bc74958e0dd",
    "24.3.1": "3790624780082365f47549d032f3770eeb2b1e8bd1f7b2e02dace1afa361b4ed",
    "25.0": "b6eb97a803356a52b2dd4bb73ba9e65b2ba16caa6bcb25a7497350a4e5859b65",
    "25.0.1": "c46efd13b6aa8279f33f2864459c8ce587ea6a1a59ee20de055868d8f7688f7f",
    "25.1": "13b4aa0aaad055020a11bec8a1c2a70a2b2d080e12d89b962266029fff0a16ba",
    "25.1.1": "2913a38a2abf4ea6b64ab507bd9e967f3b53dc1ede74b01b0931e1ce548751af",
    "25.2": "6d67a2b4e7f14d8b31b8b52648866fa717f45a1eb70e83002f4331d07e953717",
    "25.3": "9655943313a94722b7774661c21049070f6bbb0a1516bf02f7c8d5d9201514cd",
    "26.0": "98436feffb9e31bc9339cf369fd55d3331b1580b6a6f1173bacacddcf9c34754",
    "26.0.1": "bdb1b08f4274833d62c1aa29e20907365a2ceb950410df15fc9521bad440122b",
    "26.1": "4e8486d821d814b77319acb7b9e8bf5a4ee7590a643e7cb21029f209be8573c1",
    "26.1.1": "99cb1c2899893b075ff56e4ed0af55669a955b49ad7fb8d8603ecdaf4ed653fb",
    "26.1.2": "382ff9f685ee3bc25864f820aa50505825f10f5458ffff07e30a6d96e5715cab",
    "26.2": "931c303696af6fa3417112103b1cad26890e5a07eccb5b99783700e33f2b8aad",
    "26.2.1": "71138adf1f4ca900cdb7d289c21b7494329f2332b6d85f0e1c42108c0384ed3e",
    "26.3": "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13",
}
"""Versions of pip that are fetched, with the SHA-256 of their wheels on PyPI. pip is the only code of an index that a
builder runs, and a builder has a network: an index must not choose it.
"""
_MAX_FILES = 100_000
"""Files in one wheel. The largest ones have about 10,000."""
_MAX_RATIO = 200
"""A wheel that unpacks to more than this many times its size is a bomb. Real ones stay below 20."""
_MAX_INDEX_BYTES = 64 << 20
"""The longest page of an index. The longest on PyPI has about 10 MB."""
_MAX_PACKAGES = 500
"""Of one set, as on the host."""
_TIMEOUT_SECONDS = 30
_CHECK_SECONDS = 10
"""Chosen: an index that takes longer is of no use to a cell."""
_RESOLVE_SECONDS = 300
"""How long pip may choose. Chosen: large sets take a minute over a slow line."""
_PACE_SECONDS = 60
_PACE_BYTES = 64 << 10
"""A host that sends less than this in `_PACE_SECONDS` is given up: it would hold a builder from others."""
_DOWNLOADS = 4
_BLOCK = 1 << 18
_PAGES = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_TAIL_BYTES = 1 << 16
"""What is fetched of a wheel to read its metadata. It has them at its end, and most are shorter."""
_MAX_METADATA_BYTES = 4 << 20
"""The longest metadata have about 200 KB."""


class JobError(Exception):
    """The job cannot be done; the text is the reason, in at most two lines."""

    def __init__(self, kind: str, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.status = status
        """What a host answered, if that is the reason."""


_output_lock = threading.Lock()
_agreed = threading.Event()
"""Set once the host agrees to what was chosen."""


def report(_type: str, **facts: object) -> None:
    """Writes one report."""
    with _output_lock:
        sys.stdout.write(json.dumps({"type": _type, **facts}) + "\n")
        sys.stdout.flush()


class Store:
    """The folders of the store, and this builder's own folder in `tmp`."""

    def __init__(self, root: str) -> None:
        os.umask(0o022)
        folders = ("wheels", "sets", "tools", "tmp")
        self.wheels, self.sets, self.tools, self.tmp = (os.path.join(root, name) for name in folders)
        # A session opens the set whose path it was given, and no other. Stores of earlier versions were open.
        for folder, mode in ((self.wheels, 0o700), (self.sets, 0o711), (self.tools, 0o700), (self.tmp, 0o700)):
            os.makedirs(folder, mode=mode, exist_ok=True)
            os.chmod(folder, mode)
        # Held while this process lives, whatever ends it.
        self.own, self._lock = self._new_folder()
        # Held by everyone who builds; whoever removes anything needs it alone.
        self.work_lock = os.open(os.path.join(self.tmp, "work"), os.O_CREAT | os.O_RDWR)
        fcntl.flock(self.work_lock, fcntl.LOCK_SH)
        self._remove_leftovers()

    def _new_folder(self) -> tuple[str, int]:
        while True:
            own = os.path.join(self.tmp, os.urandom(8).hex())
            lock = os.open(f"{own}.lock", os.O_CREAT | os.O_EXCL | os.O_RDWR)
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Another builder may have taken the file for a leftover before it was locked.
            if os.path.exists(f"{own}.lock"):
                os.mkdir(own)
                return own, lock
            os.close(lock)

    def _remove_leftovers(self) -> None:
        for name in os.listdir(self.tmp):
            path = os.path.join(self.tmp, name)
            if not name.endswith(".lock") or path == self.own + ".lock":
                continue
            try:
                descriptor = os.open(path, os.O_RDWR)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue  # Its builder still runs.
            else:
                shutil.rmtree(path.removesuffix(".lock"), ignore_errors=True)
                os.unlink(path)
            finally:
                os.close(descriptor)

    def close(self) -> None:
        """Removes what this builder has in `tmp`."""
        shutil.rmtree(self.own, ignore_errors=True)
        os.unlink(self.own + ".lock")

    def secret(self) -> bytes:
        """What only builders of this store know."""
        final = os.path.join(self.tmp, "secret")
        if not os.path.exists(final):
            made = self.path("secret")
            with open(made, "wb") as file:
                file.write(os.urandom(32))
            with contextlib.suppress(FileExistsError):  # Another builder was faster.
                os.link(made, final)
        with open(final, "rb") as file:
            return file.read()

    def path(self, name: str) -> str:
        """A path in this builder's own folder."""
        return os.path.join(self.own, name)

    def sync(self) -> None:
        """Waits until the files are on the disk: a loss of power must not leave a set with empty files."""
        descriptor = os.open(self.own, os.O_RDONLY)
        try:
            _syncfs(descriptor)
        finally:
            os.close(descriptor)

    def publish(self, made: str, final: str) -> None:
        """Makes a finished folder visible. If another builder was faster, its folder has the same content."""
        try:
            os.rename(made, final)
        except OSError:
            if not os.path.isdir(final):
                raise
            shutil.rmtree(made)


def _syncfs(descriptor: int) -> None:
    """Writes one file system: cheaper than thousands of `fsync`, and than `os.sync`, which waits for every disk."""
    try:
        import ctypes

        ended = ctypes.CDLL(None, use_errno=True).syncfs(descriptor)
    except (ImportError, OSError, AttributeError):
        os.sync()
        return
    if ended != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Index:
    """What the packages come from: pages of links, then indexes, each with the credentials in its address.

    Whichever has a name first is the only one that is asked for it. With the highest version of all, as pip takes it,
    anyone could publish the name of a private package with a higher version.
    """

    def __init__(self, job: dict[str, Any], store: Store) -> None:
        source = job["index"]
        self.urls: list[str] = source["urls"]
        self.links: list[str] = source["links"]
        self.absent: dict[str, list[int]] = source["absent"]
        self.trusted: set[str] = set(source["trusted"])
        self.certificates: str | None = source["certificates"]
        self._store = store
        self._timeout = _TIMEOUT_SECONDS
        # Only these: an engine may have set others.
        for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
            del os.environ[name]
        os.environ.update(source["proxies"])
        self._opener: urllib.request.OpenerDirector | None = None
        self.addresses = Addresses([*self.urls, *self.links])
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(_DOWNLOADS)
        self._projects: dict[str, Future[list[IndexFile] | None]] = {}
        self._link_pages: dict[str, list[IndexFile]] = {}
        self._wheels: dict[str, Future[str]] = {}

    def open(self, url: str, named_by: str | None = None, **headers: str) -> Any:
        """Opens an address, with the credentials for its host: of an index, or one that the page `named_by` names."""
        with self._lock:
            if self._opener is None:
                handlers = (_Http(self.addresses), _Https(self), _Redirects(self))
                self._opener = urllib.request.build_opener(*handlers)
        _check_address(url)
        headers = {"User-Agent": "mcp-server-code-execution-mode", **headers}
        request = urllib.request.Request(without_credentials(url), headers=headers)
        request.named_by = named_by  # pyright: ignore[reportAttributeAccessIssue]
        self.authorize(request, url)
        try:
            return self._opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 404:
                raise
            kind = "login" if error.code in (401, 403, 407) else "index"
            raise JobError(kind, f"{_host(url)} answered {error.code} {error.reason}", error.code) from None
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else repr(error)
            raise JobError(_kind_of(reason), f"{_host(url)} cannot be reached: {reason}") from None

    def authorize(self, request: urllib.request.Request, url: str) -> None:
        """Adds the credentials for the host of `url`, of the index whose path is nearest; a redirect drops them."""

        def shared(known: str) -> int:
            pairs = zip(urllib.parse.urlsplit(known).path, urllib.parse.urlsplit(url).path, strict=False)
            return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))

        places = (url, *self.urls, *self.links)
        own = [each for each in places if credentials_of(each) and origin_of(each) == origin_of(url)]
        if own:
            encoded = base64.b64encode(credentials_of(max(own, key=shared)).encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {encoded}")

    def look_up(self, name: str) -> Future[list[IndexFile] | None]:
        """Begins to ask for a project, unless that was done before."""
        with self._lock:
            if name not in self._projects:
                self._projects[name] = self._pool.submit(self._files_of, name)
            return self._projects[name]

    def files_of(self, name: str) -> list[IndexFile] | None:
        """The files of a project where it is found first; None if it is nowhere."""
        return self.look_up(name).result()

    def _files_of(self, name: str) -> list[IndexFile] | None:
        for url in self.links:
            found = [file for file in self._linked(url) if file.project == name]
            if found:
                return found
        for url in self.urls:
            try:
                return self._page(f"{url.rstrip('/')}/{name}/", name)
            except (urllib.error.HTTPError, JobError) as error:
                if not self._lacks(url, error):
                    raise
        return None

    def _lacks(self, url: str, error: Exception) -> bool:
        """Whether an index says with this error that it does not have a name: with 404, or as the user says."""
        return not isinstance(error, JobError) or error.status in self.absent.get(url, ())

    def _linked(self, url: str) -> list[IndexFile]:
        if url not in self._link_pages:
            try:
                self._link_pages[url] = self._page(url, "links")
            except urllib.error.HTTPError as error:
                raise JobError("index", f"{_host(url)} answered {error.code} for a page of links") from None
        return self._link_pages[url]

    def _page(self, url: str, name: str) -> list[IndexFile]:
        with self.open(url, Accept=_PAGES) as answer:
            data = bytearray()
            for block in _blocks(answer, url):
                data += block
                if len(data) > _MAX_INDEX_BYTES:
                    raise JobError("index", f"the answer of {_host(url)} for {name} does not end")
            kind, place = answer.headers.get("Content-Type", ""), answer.geturl()
        if "html" in kind or data.lstrip().startswith(b"<"):
            return _files_of_html(data.decode("utf-8", "replace"), place)
        try:
            files = [_file_of_json(file, place) for file in json.loads(data)["files"]]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise JobError("index", f"the answer of {_host(url)} for {name} is not that of an index") from None
        return files

    def check(self) -> None:
        """Raises JobError if a page of links or an index does not answer soon. The name that it asks for is public."""
        self._timeout = _CHECK_SECONDS
        for url in self.links:
            self._linked(url)
        for url in self.urls:
            try:
                self.open(f"{url.rstrip('/')}/pip/", Accept=_PAGES).close()
            except (urllib.error.HTTPError, JobError) as error:
                if not self._lacks(url, error):
                    raise

    def wheel_of(self, file: IndexFile) -> str:
        """Path of a wheel that is needed before it is chosen: for its metadata or its hash, if the index lacks them."""
        url = without_credentials(file.url)
        with self._lock:
            mine = url not in self._wheels
            future = self._wheels.setdefault(url, Future())
        if mine:
            path = self._store.path(os.urandom(8).hex())
            try:
                sha256 = self.fetch(file.url, file.filename, path, named_by=file.page)
                if file.sha256 is None:
                    file.sha256 = sha256
                check_hash(file.filename, sha256, file.sha256)
                future.set_result(path)
            except BaseException as error:
                future.set_exception(error)
                raise
        return future.result()

    def fetched(self, url: str) -> str | None:
        """Path of a wheel that `wheel_of` has fetched."""
        return self._wheels[url].result() if url in self._wheels else None

    def fetch(
        self,
        url: str,
        name: str,
        path: str,
        on_block: Callable[[int, int], None] | None = None,
        named_by: str | None = None,
    ) -> str:
        """Writes a file of an index to `path`. Returns its SHA-256."""
        digest = hashlib.sha256()
        try:
            with self.open(url, named_by) as answer, open(path, "wb") as target:
                total = int(answer.headers.get("Content-Length") or 0)
                for block in _blocks(answer, url):
                    if on_block is not None:
                        on_block(len(block), total)
                    digest.update(block)
                    target.write(block)
        except urllib.error.HTTPError as error:
            raise JobError("index", f"{name} could not be fetched: {_host(url)} answered {error.code}") from None
        return digest.hexdigest()


class _Parts(io.RawIOBase):
    """A file of an index, of which only what is read is fetched, first the end, where wheels have their metadata.

    Raises LookupError if the host sends no parts.
    """

    def __init__(self, index: Index, file: IndexFile) -> None:
        super().__init__()
        self._index, self._url, self._page, self._at = index, file.url, file.page, 0
        self._tail, found = self._part(f"-{_TAIL_BYTES}")
        self._size = found

    def _part(self, span: str) -> tuple[bytes, int]:
        with self._index.open(self._url, self._page, Range=f"bytes={span}") as answer:
            span = answer.headers.get("Content-Range", "")
            match = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", span)
            if answer.status != 206 or match is None:
                raise LookupError
            return answer.read(int(match[2]) - int(match[1]) + 1), int(match[3])

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, origin: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[origin]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._size, self._at + size)
        in_tail = self._at - (self._size - len(self._tail))
        if end <= self._at:
            return b""
        if in_tail >= 0:
            data = self._tail[in_tail : in_tail + end - self._at]
        else:
            data, _ = self._part(f"{self._at}-{max(end, min(self._size, self._at + _TAIL_BYTES)) - 1}")
            data = data[: end - self._at]
        self._at += len(data)
        return data


class IndexFile:
    """A file that an index lists."""

    def __init__(self, page: str, url: str, filename: str, **facts: Any) -> None:
        self.page = page
        self.url = url
        self.filename = filename
        self.sha256: str | None = facts.get("sha256")
        self.requires_python: str | None = facts.get("requires_python")
        self.uploaded: str | None = facts.get("uploaded")
        self.yanked: object = facts.get("yanked")
        self.has_metadata: bool = facts.get("has_metadata", False)

    @property
    def project(self) -> str:
        """The normalized name, if it is a wheel."""
        return _normal(self.filename.split("-")[0]) if self.filename.endswith(".whl") else ""

    @property
    def version(self) -> str:
        """Of a wheel."""
        return self.filename.split("-")[1] if self.filename.count("-") > 1 else ""

    @property
    def may_run(self) -> bool:
        """Whether it is a wheel for Linux or for any platform."""
        return self.filename.endswith(".whl") and re.search(r"any|linux", self.filename.rpartition("-")[2]) is not None

    def is_old_enough(self, before: str | None) -> bool:
        """Whether it was uploaded before a time. Both are UTC, so the texts compare like the times."""
        return before is None or (self.uploaded is not None and self.uploaded < before)


def _file_of_json(file: dict[str, Any], page: str) -> IndexFile:
    """A file as PEP 691 describes it."""
    return IndexFile(
        page,
        urllib.parse.urljoin(page, file["url"]),
        str(file["filename"]),
        sha256=_valid_sha256(file["hashes"].get("sha256")),
        requires_python=file.get("requires-python"),
        uploaded=file.get("upload-time"),
        yanked=file.get("yanked"),
        has_metadata=bool(file.get("core-metadata") or file.get("dist-info-metadata")),
    )


def _valid_sha256(text: object) -> str | None:
    return text if isinstance(text, str) and re.fullmatch(r"[0-9a-f]{64}", text) else None


def _files_of_html(text: str, page: str) -> list[IndexFile]:
    """The files that a page links to (PEP 503): of an index, or of a folder that a web server lists."""
    from html.parser import HTMLParser

    files: list[IndexFile] = []
    base = page

    class Links(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            nonlocal base
            facts = {name: value or "" for name, value in attrs}
            if tag == "base" and "href" in facts:
                base = urllib.parse.urljoin(page, facts["href"])
            if tag != "a" or "href" not in facts:
                return
            url, _, fragment = urllib.parse.urljoin(base, facts["href"]).partition("#")
            name = urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2])
            if name:
                hashes = urllib.parse.parse_qs(fragment).get("sha256", [None])
                metadata = facts.get("data-core-metadata", facts.get("data-dist-info-metadata", "false"))
                files.append(
                    IndexFile(
                        page,
                        url,
                        name,
                        sha256=_valid_sha256(hashes[0]),
                        requires_python=facts.get("data-requires-python"),
                        yanked="data-yanked" in facts,
                        has_metadata=metadata != "false",
                    )
                )

    Links().feed(text)
    return files


def check_hash(name: str, found: str, expected: str) -> None:
    """Raises JobError if a file is not the one that was promised."""
    if found != expected:
        raise JobError("hash", f"{name} has the SHA-256 {found}\nexpected {expected}")


def _kind_of(reason: object) -> str:
    """What kept a host from being reached."""
    if "CERTIFICATE_VERIFY_FAILED" in str(reason):
        return "certificate"
    if not _has_routes():
        return "isolated"
    number = reason.errno if isinstance(reason, OSError) else None
    is_unreachable = isinstance(reason, socket.gaierror) or number in (errno.ENETUNREACH, errno.EHOSTUNREACH)
    return "network" if is_unreachable else "index"


def _has_routes() -> bool:
    """Whether there is a way out of this sandbox. The first file has a heading, the second one the loopback device."""
    try:
        with open("/proc/net/route") as routes, open("/proc/net/ipv6_route") as routes6:
            return len(routes.readlines()) > 1 or any(line.split()[-1] != "lo" for line in routes6)
    except OSError:
        return True


class Addresses:
    """Which addresses may be reached. An index may be anywhere: the user named it.

    What its pages and redirects name must not lead from the internet into the networks of this machine, nor from a
    private network to this machine itself. The host applies the same rule (`src/edges/upstream/http/addresses.ts`).
    """

    def __init__(self, urls: list[str]) -> None:
        self._urls = urls
        self._own = {origin_of(url) for url in urls}
        self.reached: dict[str, set[str]] = {}
        """By host, its addresses."""

    def connector(self, request: Any) -> Callable[..., socket.socket]:
        """What connects for a request. Raises JobError if a proxy would connect to a host that it must not ask for."""
        url: str = request.full_url
        host = urllib.parse.urlsplit(url).hostname or ""
        is_own = origin_of(url) in self._own
        # For a tunnel, urllib keeps the host beside the request.
        is_proxied = request.has_proxy() or getattr(request, "_tunnel_host", None) is not None
        named_by = getattr(request, "named_by", None)
        if is_proxied and not is_own:
            # Where a name leads that only the proxy can resolve is up to the proxy.
            with contextlib.suppress(socket.gaierror):
                self._allowed(host, None, named_by)

        def connect(address: tuple[str, int], timeout: Any = None, source: Any = None) -> socket.socket:
            if is_proxied or is_own:
                opened = socket.create_connection(address, timeout, source)
                if not is_proxied:
                    self.reached.setdefault(host, set()).add(opened.getpeername()[0])
                return opened
            failure: OSError | None = None
            # Connects to what was checked: a name may have another address the next time.
            for place in self._allowed(host, address[1], named_by):
                try:
                    opened = socket.create_connection((place, address[1]), timeout, source)
                except OSError as error:
                    failure = error
                else:
                    self.reached.setdefault(host, set()).add(place)
                    return opened
            raise failure or OSError(f"{host} has no address")

        return connect

    def _allowed(self, host: str, port: int | None, named_by: str | None) -> list[str]:
        """The addresses of a host. Raises JobError if there is one that must not be reached."""
        places = _addresses_of(host, port)
        for place in places:
            # A lock does not say whose page it was; then each index might have named it.
            if all(self.is_refused(place, by) for by in ([named_by] if named_by else self._urls)):
                kind = "of this machine" if _plain(place).is_loopback else "in a private network"
                raise JobError("index", f"the index names {host}, which is not asked: it is an address {kind}")
        return places

    def is_refused(self, place: str, named_by: str) -> bool:
        """Whether an address must not be reached if `named_by` names it."""
        host = urllib.parse.urlsplit(named_by).hostname or ""
        try:
            known = self.reached.get(host) or _addresses_of(host, None)
        except socket.gaierror:
            known = ()
        if not known or any(not _is_private(address) for address in known):
            return _is_private(place)
        if all(map(_is_loopback, known)):
            return _plain(place).is_link_local
        return _is_loopback(place) or _plain(place).is_link_local


def _addresses_of(host: str, port: int | None) -> list[str]:
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _plain(address: str) -> Any:
    """The IP address; of one of IPv6 that stands for one of IPv4, that one (RFC 4291, 6052 and 3056)."""
    found: Any = ipaddress.ip_address(address.partition("%")[0])
    if found.version == 4 or int(found) == 1:
        return found
    inner = found.ipv4_mapped or found.sixtofour
    if inner is None and (int(found) >> 32 == 0 or found in ipaddress.ip_network("64:ff9b::/96")):
        inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
    return inner or found


def _is_private(address: str) -> bool:
    plain = _plain(address)
    return not plain.is_global or plain.is_multicast or (plain.version == 6 and plain.is_site_local)


def _is_loopback(address: str) -> bool:
    plain = _plain(address)
    return plain.is_loopback or plain.is_unspecified


class _Http(urllib.request.HTTPHandler):
    """Connects as `Addresses` says."""

    def __init__(self, addresses: Addresses) -> None:
        super().__init__()
        self._addresses = addresses

    def http_open(self, req: urllib.request.Request) -> Any:
        return self.do_open(_guarded(http.client.HTTPConnection, self._addresses.connector(req)), req)


def _guarded(kind: Any, connect: Callable[..., socket.socket]) -> Any:
    """A class of connections that `connect` opens."""

    def make(host: str, **options: Any) -> Any:
        connection = kind(host, **options)
        vars(connection)["_create_connection"] = connect
        return connection

    return make


class _Https(urllib.request.HTTPSHandler):
    """Checks certificates, except for the hosts that the user trusts without. Connects as `Addresses` says."""

    def __init__(self, index: Index) -> None:
        import ssl

        super().__init__()
        certificates, trusted = index.certificates, index.trusted
        self._addresses = index.addresses
        file = None
        if certificates is None and not os.path.exists(ssl.get_default_verify_paths().openssl_cafile):
            file = _bundled_certificates()
        self._checking = ssl.create_default_context(cafile=file, cadata=certificates)
        # Python 3.13 began to refuse certificates without a key identifier, which many companies have and pip takes.
        self._checking.verify_flags &= ~ssl.VERIFY_X509_STRICT
        self._trusting = ssl.create_default_context()
        self._trusting.check_hostname = False
        self._trusting.verify_mode = ssl.CERT_NONE
        self._trusted = trusted

    def https_open(self, req: urllib.request.Request) -> Any:
        parts = urllib.parse.urlsplit(req.full_url)
        host = re.sub(r":\d+$", "", parts.netloc)
        is_trusted = not self._trusted.isdisjoint({host, f"{host}:{parts.port or 443}"})
        context = self._trusting if is_trusted else self._checking
        connections = _guarded(http.client.HTTPSConnection, self._addresses.connector(req))
        return self.do_open(connections, req, context=context)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect with the credentials for its target only, which may be none, and never away from https."""

    http_error_308 = urllib.request.HTTPRedirectHandler.http_error_302

    def __init__(self, index: Index) -> None:
        self._index = index

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        _check_address(newurl)
        if req.type == "https" and origin_of(newurl)[0] != "https":
            raise JobError("index", f"{_host(req.full_url)} redirects to an address without https")
        # Python 3.10 does not know 308, which is the same for a GET.
        request = super().redirect_request(req, fp, 301 if code == 308 else code, msg, headers, newurl)
        if request is not None:
            request.named_by = req.full_url  # pyright: ignore[reportAttributeAccessIssue]
            self._index.authorize(request, newurl)
        return request


def _check_address(url: str) -> None:
    if origin_of(url)[0] not in ("http", "https"):
        raise JobError("index", f"{without_credentials(url)[:200]!r} is not an http or https address")


def _blocks(answer: Any, url: str) -> Iterable[bytes]:
    """What a host sends. Raises JobError if it only keeps the connection open."""
    began, size = time.monotonic(), 0
    while True:
        try:
            block = answer.read1(_BLOCK)
        except (OSError, http.client.HTTPException) as error:
            raise JobError("index", f"{_host(url)} broke off its answer: {error!r}"[:300]) from None
        if not block:
            return
        yield block
        size += len(block)
        now = time.monotonic()
        if now - began > _PACE_SECONDS:
            if size < _PACE_BYTES:
                raise JobError("index", f"{_host(url)} sent only {size} bytes in {_PACE_SECONDS} s")
            began, size = now, 0


def without_credentials(url: str) -> str:
    """An address as it can be shown."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def credentials_of(url: str) -> str:
    """The `user:password` of an address; empty if there is none."""
    return urllib.parse.unquote(urllib.parse.urlsplit(url).netloc.rpartition("@")[0])


def _host(url: str) -> str:
    return origin_of(url)[1]


def origin_of(url: str) -> tuple[str, str]:
    """Scheme and host of an address, without the usual port. Credentials are sent to no other."""
    parts = urllib.parse.urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    return parts.scheme, host.removesuffix({"http": ":80", "https": ":443"}.get(parts.scheme, ""))


def _bundled_certificates() -> str | None:
    try:
        certifi: Any = importlib.import_module("pip._vendor.certifi")
    except ImportError:
        return None
    return certifi.where()


# Choosing versions


class PipIndex:
    """The only index that pip sees, and the only thing that it can reach: this server is also its proxy.

    It passes on what the indexes have, as JSON without files that may not be taken. pip gets no credentials, and what a
    package requires by its address is refused. Others on this machine do not know the folder.
    """

    HOST = "index.invalid"

    def __init__(self, index: Index, before: str | None) -> None:
        self.index = index
        self.before = before
        self.failure: JobError | None = None
        self.folder = f"/{os.urandom(16).hex()}"
        self.url = f"http://{self.HOST}{self.folder}/simple"
        self.files: list[IndexFile] = []
        self._numbers: dict[str, int] = {}
        self._required: list[str] = []
        handler = type("Handler", (_PipRequest,), {"source": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def proxy(self) -> str:
        """For `http_proxy`."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Answers no more."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, url: str) -> bytes | str | None:
        """The content for an address, as bytes or as the path of a file; None if there is none."""
        prefix = f"http://{self.HOST}{self.folder}/"
        if not url.startswith(prefix):
            self.fail(_by_address(url))
            return None
        kind, _, rest = url[len(prefix) :].partition("/")
        if kind == "address":
            self.fail(_by_address(self._required[int(rest)]))
            return None
        try:
            return self._page(rest.strip("/")) if kind == "simple" else self._content(rest)
        except urllib.error.HTTPError as error:
            self.fail(JobError("index", f"{_host(error.url)} answered {error.code}"))
        except JobError as error:
            self.fail(error)
        return None

    def fail(self, error: JobError) -> None:
        """Keeps the first failure: what pip says then follows from it."""
        self.failure = self.failure or error

    def file_of(self, url: str) -> IndexFile | None:
        """The file that pip knows by this address."""
        match = re.match(rf"http://{self.HOST}{self.folder}/files/(\d+)/", url)
        return self.files[int(match[1])] if match else None

    def _page(self, name: str) -> bytes | None:
        files = self.index.files_of(name)
        if files is None:
            return None
        wheels = [file for file in files if file.may_run and file.project == name]
        if self.before is not None and wheels and all(file.uploaded is None for file in wheels):
            raise no_times(_host(wheels[0].page))
        listed = [self._entry(file) for file in wheels if file.is_old_enough(self.before)]
        return json.dumps({"meta": {"api-version": "1.0"}, "name": name, "files": listed}).encode()

    def _entry(self, file: IndexFile) -> dict[str, Any]:
        number = self._numbers.setdefault(file.url, len(self.files))
        if number == len(self.files):
            self.files.append(file)
        hashes = {} if file.sha256 is None else {"sha256": file.sha256}
        return {
            "filename": file.filename,
            "url": f"../../files/{number}/{urllib.parse.quote(file.filename)}",
            "hashes": hashes,
            "requires-python": file.requires_python,
            "yanked": file.yanked or False,
            "core-metadata": True,
            "dist-info-metadata": True,
        }

    def _content(self, rest: str) -> bytes | str | None:
        number, _, name = rest.partition("/")
        file = self.files[int(number)]
        if not name.endswith(".metadata"):
            wheel = self.index.wheel_of(file)
            # A pip before 23.3 reads what is in the wheel itself.
            found = _DIRECT.search(_valid_metadata(wheel, file))
            if found is not None and not found[2].startswith(b"http"):
                raise _by_address(found[2].decode("utf-8", "replace"))
            return wheel
        # An address that a package requires is one of this server for pip, and refused when pip asks for it.
        data = _DIRECT.sub(self._own_address, self._metadata_of(file))
        # pip will ask for these next.
        for line in data.decode("utf-8", "replace").splitlines():
            if ";" not in line and (need := re.match(r"Requires-Dist:\s*([A-Za-z0-9._-]+)", line)):
                self.index.look_up(_normal(need[1]))
        return data

    def _own_address(self, found: re.Match[bytes]) -> bytes:
        self._required.append(found[2].decode("utf-8", "replace"))
        return found[1] + f"http://{self.HOST}{self.folder}/address/{len(self._required) - 1}".encode()

    def _metadata_of(self, file: IndexFile) -> bytes:
        # Mirrors pass on that there is a metadata file which they do not have, and hosts refuse to send parts in many
        # ways: the one of PyPI's files answers 501.
        if file.has_metadata:
            try:
                with self.index.open(f"{file.url}.metadata", file.page) as answer:
                    return answer.read(_MAX_METADATA_BYTES)
            except urllib.error.HTTPError:
                pass
        try:
            return _metadata_in(_Parts(self.index, file))
        except (LookupError, zipfile.BadZipFile, ValueError, NotImplementedError, urllib.error.HTTPError, JobError):
            wheel = self.index.wheel_of(file)
        return _valid_metadata(wheel, file)


_DIRECT = re.compile(rb"(?im)^(Requires-Dist:\s*[A-Za-z0-9._-]+\s*(?:\[[^\]]*\])?\s*@\s*)([^\s;]+)")
"""A requirement with an address (PEP 508), in metadata."""


def _by_address(url: str) -> JobError:
    shown = without_credentials(url)[:200]
    return JobError("wheel", f"a package requires {shown!r} by its address, not as a wheel from the index")


def _valid_metadata(wheel: str, file: IndexFile) -> bytes:
    try:
        return _metadata_in(wheel)
    except (LookupError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise JobError("wheel", f"{file.filename} is not a valid wheel: {error}") from None


def _metadata_in(wheel: Any) -> bytes:
    """The metadata in a wheel, a path or a file. Raises LookupError if there are none."""
    with zipfile.ZipFile(wheel) as archive:
        names = [one for one in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", one)]
        if not names:
            raise LookupError("it has no metadata")
        with archive.open(names[0]) as content:
            return content.read(_MAX_METADATA_BYTES)


class _PipRequest(http.server.BaseHTTPRequestHandler):
    """A request of pip."""

    protocol_version = "HTTP/1.1"
    source: PipIndex

    def do_GET(self) -> None:
        """Answers it."""
        content = self.source.answer(self.path)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
        size = os.path.getsize(content) if isinstance(content, str) else len(content or b"")
        self.send_header("Content-Length", str(size))
        self.end_headers()
        if isinstance(content, str):
            with open(content, "rb") as file:
                shutil.copyfileobj(file, self.wfile, _BLOCK)
        else:
            self.wfile.write(content or b"")

    def do_CONNECT(self) -> None:
        """Refuses a connection to a host."""
        self.path = f"https://{self.path}"
        self.do_GET()

    def log_message(self, *_: object, **__: object) -> None:
        """Says nothing."""


def resolve(job: dict[str, Any], index: Index, store: Store) -> list[dict[str, Any]]:
    """The wheels that the requirements need, which the image does not have. Raises JobError with the reason."""
    report("progress", stage="resolve")
    for line in job["requirements"]:
        if named := re.match(r"[A-Za-z0-9._-]+", line):
            index.look_up(_normal(named[0]))
    files = ("requirements.txt", "constraints.txt", "plan.json")
    requirements, constraints, plan = map(store.path, files)
    _write_lines(requirements, job["requirements"])
    _write_lines(constraints, job["constraints"])
    command = _pip(job, index, store)
    arguments = [
        "install", "--dry-run", "--quiet", "--report", plan, "--only-binary", ":all:", "--no-input", "--no-color",
        "--disable-pip-version-check", "--progress-bar", "off", "--no-cache-dir", "--retries", "0",
        "--timeout", str(_RESOLVE_SECONDS), "--requirement", requirements, "--constraint", constraints,
    ]  # fmt: skip
    source = PipIndex(index, job["uploaded_before"])
    try:
        code, text = run_pip([*command, *arguments], _environment(source, store), job, store)
    finally:
        source.close()
    if source.failure is not None:
        raise source.failure
    if code != 0:
        raise _fresh_only(text, job, index) or explain_pip(text, job, index)
    with open(plan, encoding="utf-8") as file:
        items = json.load(file)["install"]
    if len(items) > _MAX_PACKAGES:
        raise JobError("limit", f"{len(items)} packages are needed; a set has at most {_MAX_PACKAGES}")
    chosen = [planned(item, source) for item in items]
    if chosen and job.get("confirm"):
        needed_by = needs(items)
        facts = [
            {"name": name, "version": version, "needed_by": needed_by.get(_normal(name), [])}
            for name, version, _ in chosen
        ]
        report("resolved", packages=facts)
        _agreed.wait()
    return [locked(name, version, file, index) for name, version, file in chosen]


def locked(name: str, version: str, file: IndexFile, index: Index) -> dict[str, Any]:
    """What locks keep of a file. If the index gives no hash, the first download decides."""
    if file.sha256 is None:
        index.wheel_of(file)
    url = without_credentials(file.url)
    return {"name": name, "version": version, "file": file.filename, "url": url, "sha256": file.sha256}


def run_pip(command: list[str], environment: dict[str, str], job: dict[str, Any], store: Store) -> tuple[int, str]:
    """Runs pip within limits of time and disk. Returns its exit code and what it printed."""
    deadline = time.monotonic() + _RESOLVE_SECONDS
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, errors="replace",
    ) as pip:  # fmt: skip
        while True:
            try:
                out, err = pip.communicate(timeout=1)
            except subprocess.TimeoutExpired:
                if time.monotonic() > deadline:
                    pip.kill()
                    raise JobError("index", f"choosing versions took more than {_RESOLVE_SECONDS} s") from None
                # pip fetches whole wheels if an index has no metadata of them.
                if _size_of(store.own) > job["max_bytes"]:
                    pip.kill()
                    raise JobError("limit", "choosing versions needs more disk than the limit of the store") from None
            else:
                return pip.returncode, err or out


def needs(items: list[dict[str, Any]]) -> dict[str, list[str]]:
    """For each package, those that need it."""
    needed_by: dict[str, list[str]] = {}
    for item in items:
        lines = item["metadata"].get("requires_dist", [])
        for need in {_normal(named[0]) for line in lines if (named := re.match(r"[A-Za-z0-9._-]+", line))}:
            needed_by.setdefault(need, []).append(item["metadata"]["name"])
    return needed_by


def _normal(name: str) -> str:
    """The name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _write_lines(path: str, lines: Iterable[str]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,250}\.whl")


def planned(item: dict[str, Any], source: PipIndex) -> tuple[str, str, IndexFile]:
    """Name, version and file of a package that pip has chosen."""
    metadata, url = item["metadata"], item["download_info"]["url"]
    file = source.file_of(url)
    # A wheel can require another one by its address. The rules of the host are about packages of the index.
    if item.get("is_direct") or file is None or not _FILE_NAME.fullmatch(file.filename):
        shown = without_credentials(file.url if file is not None else url)[:200]
        raise JobError("wheel", f"{metadata['name']} comes from {shown!r}, not as a wheel from the index")
    return metadata["name"], metadata["version"], file


_GUARDED_PIP = """
import os, runpy, sys, urllib.parse
PROXY = urllib.parse.urlsplit(os.environ["http_proxy"])
def refuse(event, given):
    if event in ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"):
        raise PermissionError("pip may not run programs")
    if event == "socket.connect" and given[1] != (PROXY.hostname, PROXY.port):
        raise PermissionError("pip may reach nothing but the builder")
    if event in ("socket.getaddrinfo", "socket.gethostbyname") and given[0] != PROXY.hostname:
        raise PermissionError("pip may reach nothing but the builder")
sys.addaudithook(refuse)
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""
"""pip itself. A wheel can require a source archive by its address, and `--only-binary` does not keep pip from building
that: it would run code of the archive, or git. Nor may it ask any host: the builder does, by the rules for addresses.
"""


def _pip(job: dict[str, Any], index: Index, store: Store) -> list[str]:
    program = _GUARDED_PIP
    own = own_pip(job, index, store)
    if own is not None:
        program = f"import sys; sys.path.insert(0, {own!r})\n{program}"
    cache = os.path.join(store.tools, "pycache")
    return [sys.executable, "-I", "-X", f"pycache_prefix={cache}", "-c", program]


def _environment(source: PipIndex, store: Store) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": store.own,
        "TMPDIR": store.own,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": source.url,
        "PIP_TRUSTED_HOST": source.HOST,
        "http_proxy": source.proxy,
        "https_proxy": source.proxy,
    }


def _pip_version() -> tuple[int, ...]:
    from importlib import metadata

    try:
        return tuple(int(part) for part in metadata.version("pip").split(".")[:2] if part.isdigit())
    except metadata.PackageNotFoundError:
        return ()


def own_pip(job: dict[str, Any], index: Index, store: Store) -> str | None:
    """A folder with a pip from the index, for an image whose own is missing or old. None for that of the image."""
    present = _pip_version()
    if present >= _GOOD_PIP:
        return None
    for sha256 in reversed(PIPS.values()):
        kept = os.path.join(store.tools, f"pip-{sha256[:16]}")
        if os.path.isdir(kept):
            return kept
    report("progress", stage="tool")
    files = index.files_of("pip") or []
    chosen = _newest_pip(files, job["uploaded_before"])
    if chosen is None and present >= _FIRST_PIP:
        return None
    if chosen is None and _newest_pip(files, None) is not None and all(file.uploaded is None for file in files):
        raise no_times(_host(files[0].page))
    if chosen is None:
        text = "the image has no pip 22.2 or newer, and the index has none of 23.3 to 26.3 as on PyPI for this Python"
        raise JobError("tool", text)
    folder = store.path("pip")
    chosen.sha256 = PIPS[chosen.version]
    wheel = locked("pip", chosen.version, chosen, index)
    Download(index, store, job["max_bytes"]).unpack(wheel, folder)
    store.sync()
    final = os.path.join(store.tools, f"pip-{wheel['sha256'][:16]}")
    store.publish(folder, final)
    return final


def _newest_pip(files: list[IndexFile], before: str | None) -> IndexFile | None:
    usable = [
        (tuple(int(part) for part in match[1].split(".")), file)
        for file in files
        if (match := re.fullmatch(r"pip-(\d+(?:\.\d+)*)-py3-none-any\.whl", file.filename))
        and not file.yanked
        and file.is_old_enough(before)
        and file.sha256 in (None, PIPS.get(match[1], ""))
        and match[1] in PIPS
        and _supports_this_python(file.requires_python)
    ]
    return max(usable, key=lambda one: one[0], default=((), None))[1]


def _supports_this_python(specifier: str | None) -> bool:
    match = re.fullmatch(r">=\s*3\.(\d+)", (specifier or ">=3.0").strip())
    return match is not None and sys.version_info[1] >= int(match[1])


_NOISE = re.compile(r"^(WARNING|DEPRECATION|\[notice\])|^\s*$|looking at multiple versions|^INFO")


def no_times(host: str) -> JobError:
    """The error for an index that does not say how old its files are."""
    return JobError("times", f"{host} gives no upload times, so the minimum age of files cannot be checked")


def explain_pip(text: str, job: dict[str, Any], index: Index) -> JobError:
    """The error for what pip printed."""
    lines = [re.sub(r"^ERROR:\s*", "", line).strip() for line in text.splitlines() if not _NOISE.search(line)]
    joined = "\n".join(lines)
    if "pip may not run programs" in text:
        return JobError("wheel", "a package requires something by its address that is not a wheel")
    if "DO NOT MATCH THE HASHES" in joined:
        told = [line for line in lines if re.search(r" from http|Expected sha256|Got ", line)]
        return JobError("hash", _short([" ".join(told)]))
    if "ResolutionImpossible" in joined or "conflict" in joined:
        told = [line for line in lines if re.search(r" depends on | requested | requires |Cannot install", line)]
        return JobError("conflict", _short(told[:2]))
    if match := re.search(r"No matching distribution found for (\S+)", joined):
        return JobError("missing", _explain_missing(match[1], joined, job, index))
    return JobError("tool", _short(lines[-2:]))


def _fresh_only(text: str, job: dict[str, Any], index: Index) -> JobError | None:
    """The error if nothing fits, and there are files that are only too young. pip has looked the name up already."""
    match = re.search(r"No matching distribution found for (([A-Za-z0-9._-]+)\S*)", text)
    before = job["uploaded_before"]
    if match is None or before is None:
        return None
    fresh = {
        f"{file.version} ({file.uploaded[:10]})": None
        for file in index.files_of(_normal(match[2])) or []
        if file.may_run and file.uploaded is not None and file.uploaded >= before
    }
    if not fresh:
        return None
    told = ", ".join(list(fresh)[-5:])
    text = f"no version of {match[1]} fits that was uploaded before {before[:10]}\nuploaded since: {told}"
    return JobError("age", text)


def _explain_missing(wanted: str, joined: str, job: dict[str, Any], index: Index) -> str:
    named = re.match(r"[A-Za-z0-9._-]+", wanted)
    files = (index.files_of(_normal(named[0])) if named else None) or []
    has_others = len(index.urls) + len(index.links) > 1
    place = _host(files[0].page) + ", where it is found first," if files and has_others else "the index"
    listed = re.search(r"\(from versions: ([^)]*)\)", joined)
    versions = listed[1] if listed else "none"
    if versions != "none":
        return f"no version of {wanted} fits\n{place} has {versions[-150:]}"
    age = "" if job["uploaded_before"] is None else f" uploaded before {job['uploaded_before'][:10]}"
    python = f"Python {sys.version_info[0]}.{sys.version_info[1]} on {sysconfig.get_platform()}"
    return f"{place} has no wheel of {wanted}{age} for {python}"


def _short(lines: list[str]) -> str:
    return "\n".join(line[:300] for line in lines) or "pip gave no reason"


def _printable(text: str) -> str:
    """The text without control characters, which an index could send to a terminal."""
    return "".join(each if each.isprintable() or each == "\n" else "?" for each in text)


# Fetching and unpacking


class Download:
    """Fetches wheels and unpacks them, up to a number of bytes in all."""

    def __init__(self, index: Index, store: Store, max_bytes: int) -> None:
        self.index = index
        self.store = store
        self.left = max_bytes
        self.done = 0
        self.total = 0
        self._lock = threading.Lock()
        self._reported = 0.0

    def unpack(self, wheel: dict[str, Any], folder: str) -> None:
        """Fetches a wheel, checks its hash, unpacks it and compiles its modules."""
        file = self.index.fetched(wheel["url"])
        if file is None:
            file = folder + ".whl"
            check_hash(
                wheel["file"], self.index.fetch(wheel["url"], wheel["file"], file, self._counter()), wheel["sha256"]
            )
        else:
            self._counter()(os.path.getsize(file), os.path.getsize(file))
        try:
            with zipfile.ZipFile(file) as archive:
                self.extract(archive, wheel["file"], folder)
        # Two entries for one file, or a file in the place of a folder.
        except (zipfile.BadZipFile, ValueError, NotImplementedError, FileExistsError, NotADirectoryError) as error:
            raise JobError("wheel", f"{wheel['file']} is not a valid wheel: {error}") from None
        os.unlink(file)
        self.compile(folder)

    def _counter(self) -> Callable[[int, int], None]:
        """What to call for each block of one file, with its size and that of the file."""
        is_known = False

        def count(size: int, total: int) -> None:
            nonlocal is_known
            self._spend(size)
            with self._lock:
                self.total += 0 if is_known else total
                is_known = True
                self.done += size
                now = time.monotonic()
                if now - self._reported < 0.1:
                    return
                self._reported = now
            report("progress", stage="fetch", done=self.done, total=self.total)

        return count

    def _spend(self, size: int) -> None:
        with self._lock:
            self.left -= size
            if self.left < 0:
                raise JobError("limit", "the packages are larger than the limit of the store")

    def copy(self, source: str, folder: str) -> None:
        """Copies a wheel that another builder has unpacked."""
        self._spend(_size_of(source))
        shutil.copytree(source, folder)

    def extract(self, archive: zipfile.ZipFile, name: str, folder: str) -> None:
        """Unpacks the wheel `name` into a new folder. Raises JobError for a wheel that no tool would make."""
        entries = archive.infolist()
        if len(entries) > _MAX_FILES:
            raise JobError("wheel", f"{name} has {len(entries)} files; the limit is {_MAX_FILES}")
        size = sum(entry.file_size for entry in entries)
        # The entries may say anything about their sizes, and may share bytes.
        packed = os.path.getsize(archive.filename or "")
        if size > _MAX_RATIO * packed + (1 << 20):
            raise JobError("wheel", f"{name} unpacks to {size} bytes, more than {_MAX_RATIO} times its size")
        self._spend(size)
        os.mkdir(folder)
        for entry in entries:
            target = _target(entry, name)
            if target is None:
                continue
            path = os.path.join(folder, target)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            # Exclusively: an entry that is there twice could not be told apart from an attack.
            with archive.open(entry) as source, open(path, "xb") as file:
                shutil.copyfileobj(source, file, _BLOCK)

    def compile(self, folder: str) -> None:
        """Compiles the modules, because the store is read-only for sessions. What does not compile is left as it is."""
        sys.pycache_prefix = None
        for inner, _, files in os.walk(folder):
            for file in (os.path.join(inner, name) for name in files if name.endswith(".py")):
                compileall.compile_file(file, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
                # A few nested `finally` clauses compile to a million times their size.
                compiled = importlib.util.cache_from_source(file)
                if os.path.exists(compiled):
                    self._spend(os.path.getsize(compiled))


def _target(entry: zipfile.ZipInfo, wheel: str) -> str | None:
    """Where a file of a wheel goes, None if nowhere. Raises JobError for a name that leaves the folder.

    Scripts, headers and data have no use in a sandbox. Only regular files are unpacked.
    """
    name = entry.filename
    parts = name.split("/")
    if name.endswith("/"):
        return None
    if "\0" in name or "\\" in name or any(part in ("", ".", "..") for part in parts) or len(name.encode()) > 1000:
        raise JobError("wheel", f"{wheel} has a file with the unusable name {name[:80]!r}")
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise JobError("wheel", f"{wheel} has {name[:80]!r}, which is not a regular file")
    if parts[0].endswith(".data"):
        return "/".join(parts[2:]) if len(parts) > 2 and parts[1] in ("purelib", "platlib") else None
    return name


def fetch_all(
    wheels: list[dict[str, Any]], index: Index, store: Store, max_bytes: int, operators: str | None = None
) -> int:
    """Fetches the wheels that the store lacks, or copies them from the store of the operator, which the folder
    `operators` is. Returns the number of bytes fetched.
    """
    missing = [wheel for wheel in wheels if not os.path.isdir(os.path.join(store.wheels, wheel["sha256"]))]
    download = Download(index, store, max_bytes)

    def fetch(wheel: dict[str, Any]) -> None:
        download.unpack(wheel, store.path(wheel["sha256"]))

    with unchanged(operators) as there:
        copied = [wheel for wheel in missing if there and os.path.isdir(f"{operators}/wheels/{wheel['sha256']}")]
        for wheel in copied:
            download.copy(f"{operators}/wheels/{wheel['sha256']}", store.path(wheel["sha256"]))
    fetched = [wheel for wheel in missing if wheel not in copied]
    names = [f"{wheel['name']} {wheel['version']}" for wheel in fetched]
    if names:
        report("progress", stage="fetch", names=names)
    with ThreadPoolExecutor(_DOWNLOADS) as pool:
        for _ in pool.map(fetch, fetched):
            pass
    if missing:
        store.sync()
    for wheel in missing:
        store.publish(store.path(wheel["sha256"]), os.path.join(store.wheels, wheel["sha256"]))
    return download.done


@contextlib.contextmanager
def unchanged(operators: str | None) -> Generator[bool]:
    """Keeps builders of the operator from removing anything meanwhile. False if there is no store of the operator."""
    try:
        lock = os.open(f"{operators}/tmp/work", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield True
    finally:
        os.close(lock)


def make_room(store: Store, job: dict[str, Any]) -> None:
    """Raises JobError if the store is beyond its limit and stays so: sessions could hold the locks of all sets."""
    if _size_of(store.wheels) <= job["max_bytes"]:
        return
    prune(store, job, None)
    fcntl.flock(store.work_lock, fcntl.LOCK_SH)
    if _size_of(store.wheels) > job["max_bytes"]:
        raise JobError("limit", "the store is full, and sessions use its sets")


def python_name() -> str:
    """The interpreter and the platform that wheels were chosen for, as the kernel writes it."""
    return f"{sys.implementation.cache_tag} {sys.platform} {os.uname().machine}"


def publish_set(wheels: list[dict[str, Any]], store: Store) -> str:
    """Makes the folder of a set, of links to the files of its wheels. Returns its id."""
    tag = python_name()
    content = "\n".join([tag, *sorted(wheel["sha256"] for wheel in wheels)])
    identity = hashlib.sha256(store.secret() + content.encode()).hexdigest()
    final = os.path.join(store.sets, identity)
    if os.path.isdir(final):
        return identity
    made = store.path("set")
    lib = os.path.join(made, "lib")
    os.makedirs(lib)
    for wheel in sorted(wheels, key=lambda one: one["sha256"]):
        _link_tree(os.path.join(store.wheels, wheel["sha256"]), lib)
    for name, text in (("lock", ""), ("manifest.json", json.dumps({"python": tag, "packages": wheels}))):
        with open(os.path.join(made, name), "w", encoding="utf-8") as file:
            file.write(text)
    store.sync()
    store.publish(made, final)
    return identity


def _link_tree(source: str, target: str) -> None:
    for folder, _, files in os.walk(source):
        into = os.path.normpath(os.path.join(target, os.path.relpath(folder, source)))
        os.makedirs(into, exist_ok=True)
        for name in files:
            try:
                os.link(os.path.join(folder, name), os.path.join(into, name))
            except FileExistsError:
                pass  # Namespace packages repeat files; as with pip, one of them stays.


def prune(store: Store, job: dict[str, Any], kept: str | None) -> list[str] | None:
    """Removes the sets that were not used for too long, then the least recently used ones until the store fits.

    Never `kept`, nor a set that a session uses. Does nothing while another builder works: it may be about to link to a
    wheel. Returns the ids of the sets that it removed; None if it did nothing.
    """
    if not is_alone(store):
        return None
    # Of a builder that was killed before it made its set.
    _remove_unused_wheels(store)
    size, removed = _size_of(store.wheels), list[str]()
    oldest = 0.0 if job["max_age"] is None else time.time() - job["max_age"]
    # What the host does not know was used by no session of its own.
    used_at = {identity: job["used_at"].get(identity, _made_at(store, identity)) for identity in os.listdir(store.sets)}
    for identity in sorted(used_at, key=used_at.__getitem__):
        if used_at[identity] >= oldest and size <= job["max_bytes"]:
            break
        if identity != kept and _remove_set(os.path.join(store.sets, identity), store):
            removed.append(identity)
            _remove_unused_wheels(store)
            size = _size_of(store.wheels)
    return removed


def is_alone(store: Store) -> bool:
    """Whether no other builder works, and none will while this one lives."""
    try:
        fcntl.flock(store.work_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _made_at(store: Store, identity: str) -> int:
    return int(os.stat(os.path.join(store.sets, identity, "manifest.json")).st_mtime)


def _size_of(folder: str) -> int:
    size = 0
    for inner, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(inner, name)).st_blocks * 512
            except FileNotFoundError:
                continue  # pip works in this folder.
    return size


def _remove_set(path: str, store: Store) -> bool:
    """Removes a set unless a session holds its lock. Returns whether it did."""
    try:
        with open(os.path.join(path, "lock"), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Away in one step: sessions never see a part of it.
            os.rename(path, store.path("removed"))
    except OSError:
        return False
    shutil.rmtree(store.path("removed"))
    return True


def _remove_unused_wheels(store: Store) -> None:
    for name in os.listdir(store.wheels):
        wheel = os.path.join(store.wheels, name)
        files = [os.path.join(folder, file) for folder, _, inner in os.walk(wheel) for file in inner]
        if all(os.lstat(file).st_nlink == 1 for file in files):
            shutil.rmtree(wheel)


def list_sets(store: Store) -> None:
    """Reports each set, and then the size of the store."""
    for identity in sorted(os.listdir(store.sets)):
        folder = os.path.join(store.sets, identity)
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        size, made_at = _size_of(os.path.join(folder, "lib")), _made_at(store, identity)
        report("set", id=identity, **manifest, bytes=size, made_at=made_at, in_use=_is_in_use(folder))
    report("listed", bytes=_size_of(store.wheels))


def _is_in_use(folder: str) -> bool:
    try:
        with open(os.path.join(folder, "lock"), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def remove_sets(store: Store, job: dict[str, Any]) -> None:
    """Removes the sets of the job that no session uses; without a list of sets, those beyond the limits."""
    size = _size_of(store.wheels)
    if job["sets"] is None:
        removed = prune(store, job, None)
    elif is_alone(store):
        removed = [identity for identity in job["sets"] if _remove_set(os.path.join(store.sets, identity), store)]
        _remove_unused_wheels(store)
    else:
        removed = None
    if removed is None:
        raise JobError("busy", "packages are being installed, so nothing was removed")
    left = _size_of(store.wheels)
    report("removed", sets=removed, bytes=max(0, size - left), store_bytes=left)


def check(job: dict[str, Any], store: Store) -> None:
    """Reports which of the sets of the job are there, and whether every index answers."""
    present = [identity for identity in job["sets"] if os.path.isdir(os.path.join(store.sets, identity))]
    failed = None
    try:
        Index(job, store).check()
    except JobError as failure:
        failed = _failed(failure)
    report("checked", sets=present, failed=failed)


def _failed(failure: JobError) -> dict[str, str]:
    return {"kind": failure.kind, "reason": _printable(str(failure)[:2000])}


def build(job: dict[str, Any], store: Store) -> None:
    """Does the job and reports it."""
    index = Index(job, store)
    # A lock for another Python names wheels that this one cannot use.
    kept = job["lock"] if job.get("lock_for") in (None, python_name()) else None
    wheels: list[dict[str, Any]] = resolve(job, index, store) if kept is None else kept
    if not wheels:
        facts = {"python": python_name(), "store_bytes": _size_of(store.wheels)}
        report("done", set=None, packages=[], fetched_bytes=0, **facts)
        return
    make_room(store, job)
    fetched = fetch_all(wheels, index, store, job["max_bytes"], job.get("operators"))
    identity = publish_set(wheels, store)
    prune(store, job, identity)
    facts = {"python": python_name(), "store_bytes": _size_of(store.wheels)}
    report("done", set=identity, packages=wheels, fetched_bytes=fetched, **facts)


def main() -> None:
    """Reads the job, does it, and ends; also when the host closes the pipe."""
    job: dict[str, Any] = json.loads(sys.stdin.readline())

    def end_with_host() -> None:
        while os.read(0, 4096):
            _agreed.set()
        os._exit(0)

    threading.Thread(target=end_with_host, daemon=True).start()
    store = None
    try:
        store = Store(sys.argv[2])
        if job["do"] == "list":
            list_sets(store)
        elif job["do"] == "remove":
            remove_sets(store, job)
        elif job["do"] == "check":
            check(job, store)
        else:
            build(job, store)
    except JobError as failure:
        report("failed", **_failed(failure))
    except OSError as error:
        is_full = error.errno in (28, 122)
        reason = "the disk of the package store is full" if is_full else _printable(str(error))
        report("failed", kind="disk" if is_full else "store", reason=reason)
    except Exception as error:  # noqa: BLE001 The host shows any reason.
        report("failed", kind="internal", reason=_printable(f"{type(error).__name__}: {error}"[:600]))
    finally:
        if store is not None:
            store.close()
        os._exit(0)


if __name__ == "__main__":
    main()
