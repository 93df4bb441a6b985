"""Fetches packages into the package store, and looks after it.

Run as `python3 -c PROGRAM UID STORE` in a builder sandbox. Reads one job, a line of JSON, from stdin, and writes
reports, lines of JSON, to stdout: `progress`, `resolved` or `set`, then one of `done`, `listed`, `removed` and
`failed`. After `resolved` it waits for a line, if the job says so. It ends when its stdin is closed. pip only chooses
versions. This program downloads the wheels itself, checks their hashes and unpacks them, so that nothing in a wheel
is ever executed and it alone decides what a wheel may write.

The store:
    wheels/SHA256/     an unpacked wheel
    sets/ID/lib/       the files of several wheels, as hard links: one entry of `sys.path`
    sets/ID/lock       locked (shared) by each session that uses the set
    tools/             pip, for images that have none, and compiled modules of the standard library
    tmp/               what is being built; readable only by builders

A folder appears under its final name by one rename. What a killed builder left in `tmp` is not locked, so the next one
removes it. Formats: PEP 427 (wheels), PEP 691 and 700 (the index), the installation report of pip.
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
import fcntl
import hashlib
import http.client
import importlib.util
import json
import py_compile
import re
import shutil
import stat
import subprocess
import sysconfig
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from concurrent.futures import ThreadPoolExecutor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# Has --uploaded-prior-to.
_FIRST_PIP = (26, 0)
_MAX_FILES = 100_000
"""Files in one wheel. The largest ones have about 10,000."""
_MAX_RATIO = 200
"""A wheel that unpacks to more than this many times its size is a bomb. Real ones stay below 20."""
_MAX_INDEX_BYTES = 64 << 20
"""The longest page of an index. The longest on PyPI has about 10 MB."""
_MAX_PACKAGES = 500
"""Of one set, as on the host."""
_TIMEOUT_SECONDS = 30
_RESOLVE_SECONDS = 300
"""How long pip may choose. Chosen: large sets take a minute over a slow line."""
_PACE_SECONDS = 60
_PACE_BYTES = 64 << 10
"""A host that sends less than this in `_PACE_SECONDS` is given up: it would hold a builder from others."""
_DOWNLOADS = 4
_BLOCK = 1 << 18
_SIMPLE_JSON = "application/vnd.pypi.simple.v1+json"


class JobError(Exception):
    """The job cannot be done; the text is the reason, in at most two lines."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


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
        for folder in (self.wheels, self.sets, self.tools):
            os.makedirs(folder, exist_ok=True)
        os.makedirs(self.tmp, mode=0o700, exist_ok=True)
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
    """The package indexes, with the credentials in their addresses."""

    def __init__(self, job: dict[str, Any], store: Store) -> None:
        self.urls: list[str] = [job["index"]["url"], *job["index"]["extra"]]
        self.certificates: str | None = None
        if job["index"].get("certificates"):
            self.certificates = store.path("certificates.pem")
            with open(self.certificates, "w", encoding="ascii") as file:
                file.write(job["index"]["certificates"])
        # Only these: an engine may have set others.
        for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
            del os.environ[name]
        os.environ.update(job["index"]["proxies"])
        self._opener: urllib.request.OpenerDirector | None = None

    def open(self, url: str, accept: str | None = None) -> Any:
        """Opens an address of an index, with the credentials for its host."""
        if self._opener is None:
            self._opener = self._new_opener()
        _check_address(url)
        headers = {"User-Agent": "mcp-server-code-execution-mode"}
        if accept is not None:
            headers["Accept"] = accept
        request = urllib.request.Request(without_credentials(url), headers=headers)
        self.authorize(request, url)
        try:
            return self._opener.open(request, timeout=_TIMEOUT_SECONDS)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                raise
            raise JobError("index", f"{_host(url)} answered {error.code} {error.reason}") from None
        except urllib.error.URLError as error:
            raise JobError("network", f"{_host(url)} cannot be reached: {error.reason}") from None

    def _new_opener(self) -> urllib.request.OpenerDirector:
        import ssl

        file = self.certificates
        if file is None and not os.path.exists(ssl.get_default_verify_paths().openssl_cafile):
            file = _bundled_certificates()
        context = ssl.create_default_context(cafile=file)
        return urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), _Redirects(self))

    def authorize(self, request: urllib.request.Request, url: str) -> None:
        """Adds the credentials for the host of `url`; no redirect takes them along."""
        for known in (url, *self.urls):
            credentials = credentials_of(known)
            if credentials and origin_of(known) == origin_of(url):
                encoded = base64.b64encode(credentials.encode()).decode()
                request.add_unredirected_header("Authorization", f"Basic {encoded}")
                return

    def files_of(self, name: str) -> list[dict[str, Any]]:
        """The files of a project on the first index that has it: `filename`, `url`, `hashes`, `upload-time`."""
        for url in self.urls:
            page = f"{url.rstrip('/')}/{name}/"
            try:
                with self.open(page, _SIMPLE_JSON) as answer:
                    if "json" not in answer.headers.get("Content-Type", ""):
                        continue
                    data = bytearray()
                    for block in _blocks(answer, page):
                        data += block
                        if len(data) > _MAX_INDEX_BYTES:
                            raise JobError("index", f"the answer of {_host(url)} for {name} does not end")
            except urllib.error.HTTPError:
                continue
            try:
                files: list[dict[str, Any]] = json.loads(data)["files"]
                return [{**file, "url": urllib.parse.urljoin(page, file["url"])} for file in files]
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                raise JobError("index", f"the answer of {_host(url)} for {name} is not that of an index") from None
        return []


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect with the credentials for its target only, which may be none, and never away from https."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        _check_address(newurl)
        if req.type == "https" and origin_of(newurl)[0] != "https":
            raise JobError("index", f"{_host(req.full_url)} redirects to an address without https")
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None:
            self._index.authorize(request, newurl)
        return request


def _check_address(url: str) -> None:
    if origin_of(url)[0] not in ("http", "https"):
        raise JobError("index", f"{without_credentials(url)[:200]!r} is not an http or https address")


def _blocks(answer: Any, url: str) -> Iterable[bytes]:
    """What a host sends. Raises JobError if it only keeps the connection open."""
    began, size = time.monotonic(), 0
    while block := answer.read1(_BLOCK):
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
    """Scheme and host of an address. Credentials are sent to no other."""
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.netloc.rpartition("@")[2]


def _bundled_certificates() -> str | None:
    try:
        certifi: Any = importlib.import_module("pip._vendor.certifi")
    except ImportError:
        return None
    return certifi.where()


# Choosing versions


def resolve(job: dict[str, Any], index: Index, store: Store) -> list[dict[str, Any]]:
    """The wheels that the requirements need, which the image does not have. Raises JobError with pip's reason."""
    report("progress", stage="resolve")
    files = ("requirements.txt", "constraints.txt", "plan.json")
    requirements, constraints, plan = map(store.path, files)
    _write_lines(requirements, job["requirements"])
    _write_lines(constraints, job["constraints"])
    command, environment = _pip(job, index, store)
    arguments = [
        "install", "--dry-run", "--quiet", "--report", plan, "--only-binary", ":all:", "--no-input", "--no-color",
        "--disable-pip-version-check", "--progress-bar", "off", "--no-cache-dir", "--retries", "1",
        "--timeout", str(_TIMEOUT_SECONDS), "--requirement", requirements, "--constraint", constraints,
    ]  # fmt: skip
    if job["uploaded_before"] is not None:
        arguments += ["--uploaded-prior-to", job["uploaded_before"]]
    code, text = run_pip([*command, *arguments], environment, job, store)
    if code != 0:
        raise _fresh_only(text, job, index) or explain_pip(text, job)
    with open(plan, encoding="utf-8") as file:
        items = json.load(file)["install"]
    if len(items) > _MAX_PACKAGES:
        raise JobError("limit", f"{len(items)} packages are needed; a set has at most {_MAX_PACKAGES}")
    wheels = [planned(item) for item in items]
    if wheels and job.get("confirm"):
        needed_by = needs(items)
        chosen = [
            {key: wheel[key] for key in ("name", "version")} | {"needed_by": needed_by.get(_normal(wheel["name"]), [])}
            for wheel in wheels
        ]
        report("resolved", packages=chosen)
        _agreed.wait()
    return wheels


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


def planned(item: dict[str, Any]) -> dict[str, Any]:
    source, metadata = item["download_info"], item["metadata"]
    sha256 = source.get("archive_info", {}).get("hashes", {}).get("sha256", "")
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        raise JobError("hash", f"the index gives no SHA-256 for {metadata['name']} {metadata['version']}")
    url = without_credentials(source["url"])
    file = urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2])
    # A wheel can require another one by its address. The rules of the host are about packages of the index.
    if item.get("is_direct") or not _FILE_NAME.fullmatch(file):
        raise JobError("wheel", f"{metadata['name']} comes from {url[:200]!r}, not as a wheel from the index")
    return {"name": metadata["name"], "version": metadata["version"], "file": file, "url": url, "sha256": sha256}


_GUARDED_PIP = """
import runpy, sys
def refuse(event, _):
    if event in ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"):
        raise PermissionError("pip may not run programs")
sys.addaudithook(refuse)
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""
"""pip itself. A wheel can require a source archive by its address, and `--only-binary` does not keep pip from building
that: it would run code of the archive, or git.
"""


def _pip(job: dict[str, Any], index: Index, store: Store) -> tuple[list[str], dict[str, str]]:
    """The command of pip and its environment. Addresses with credentials are not in the arguments, which `ps` shows."""
    program = _GUARDED_PIP
    if _pip_version() < _FIRST_PIP:
        program = f"import sys; sys.path.insert(0, {_own_pip(job, index, store)!r})\n{program}"
    cache = os.path.join(store.tools, "pycache")
    command = [sys.executable, "-I", "-X", f"pycache_prefix={cache}", "-c", program]
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": store.own,
        "TMPDIR": store.own,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": index.urls[0],
        "PIP_EXTRA_INDEX_URL": " ".join(index.urls[1:]),
        **{name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")},
    }
    if index.certificates is not None:
        environment["PIP_CERT"] = index.certificates
    hosts = [host for host in (urllib.parse.urlsplit(url) for url in index.urls) if host.scheme == "http"]
    if hosts:
        environment["PIP_TRUSTED_HOST"] = " ".join(host.netloc.rpartition("@")[2] for host in hosts)
    return command, environment


def _pip_version() -> tuple[int, ...]:
    from importlib import metadata

    try:
        return tuple(int(part) for part in metadata.version("pip").split(".")[:2] if part.isdigit())
    except metadata.PackageNotFoundError:
        return ()


def _own_pip(job: dict[str, Any], index: Index, store: Store) -> str:
    """A folder with a pip from the index, for an image whose own is missing or too old."""
    kept = sorted(name for name in os.listdir(store.tools) if name.startswith("pip-"))
    if kept:
        return os.path.join(store.tools, kept[-1])
    report("progress", stage="tool")
    files = index.files_of("pip")
    if job["uploaded_before"] is not None and files and not any("upload-time" in file for file in files):
        raise _no_times("the index")
    wheels = [file for file in files if _is_old_enough(file, job["uploaded_before"])]
    usable = [
        (tuple(int(part) for part in match[1].split(".")), file)
        for file in wheels
        if (match := re.fullmatch(r"pip-(\d+(?:\.\d+)*)-py3-none-any\.whl", file["filename"]))
        and not file.get("yanked")
        and _supports_this_python(file.get("requires-python"))
    ]
    if not usable:
        raise JobError("tool", "the image has no pip 26 or newer, and the index has none that runs on this Python")
    version, chosen = max(usable, key=lambda one: one[0])
    if version < _FIRST_PIP:
        raise JobError("tool", f"pip 26 or newer is needed; the newest on the index is {'.'.join(map(str, version))}")
    wheel = {"name": "pip", "file": chosen["filename"], "url": chosen["url"], "sha256": chosen["hashes"]["sha256"]}
    folder = store.path("pip")
    Download(index, store, job["max_bytes"]).unpack(wheel, folder)
    store.sync()
    final = os.path.join(store.tools, f"pip-{wheel['sha256'][:16]}")
    store.publish(folder, final)
    return final


def _supports_this_python(specifier: str | None) -> bool:
    match = re.fullmatch(r">=\s*3\.(\d+)", (specifier or ">=3.0").strip())
    return match is not None and sys.version_info[1] >= int(match[1])


def _is_old_enough(file: dict[str, Any], before: str | None) -> bool:
    # Both are UTC, so the texts compare like the times; an index that gives no time cannot be judged.
    return before is None or str(file.get("upload-time", "9")) < before


_NOISE = re.compile(r"^(WARNING|DEPRECATION|\[notice\])|^\s*$|looking at multiple versions|^INFO")
_NO_NETWORK = re.compile(
    "Temporary failure in name resolution|NameResolutionError|Network is unreachable|No route to host"
)
_NO_INDEX = re.compile(
    "Connection refused|Max retries|ConnectTimeout|ReadTimeout|50[0-9] Server Error|NewConnectionError"
)


def _no_times(index: str) -> JobError:
    return JobError("age", f"{index} gives no upload times, so no file is known to be old enough")


def explain_pip(text: str, job: dict[str, Any]) -> JobError:
    """The error for what pip printed."""
    lines = [re.sub(r"^ERROR:\s*", "", line).strip() for line in text.splitlines() if not _NOISE.search(line)]
    joined = "\n".join(lines)
    if _NO_NETWORK.search(text):
        return JobError("network", "no network: " + _short(lines[-1:]))
    if match := re.search(r"(\S+) does not provide upload-time metadata", text):
        return _no_times(match[1])
    if _NO_INDEX.search(text):
        return JobError("index", _short(lines[-2:]))
    if "pip may not run programs" in text:
        return JobError("wheel", "a package requires something by its address that is not a wheel")
    if "DO NOT MATCH THE HASHES" in joined:
        told = [line for line in lines if re.search(r" from http|Expected sha256|Got ", line)]
        return JobError("hash", _short([" ".join(told)]))
    if "ResolutionImpossible" in joined or "conflict" in joined:
        told = [line for line in lines if re.search(r" depends on | requested | requires |Cannot install", line)]
        return JobError("conflict", _short(told[:2]))
    if match := re.search(r"No matching distribution found for (\S+)", joined):
        return JobError("missing", _explain_missing(match[1], joined, job))
    return JobError("tool", _short(lines[-2:]))


def _fresh_only(text: str, job: dict[str, Any], index: Index) -> JobError | None:
    """The error if nothing fits, and there are files that are only too young. pip has looked the name up already."""
    match = re.search(r"No matching distribution found for (([A-Za-z0-9._-]+)\S*)", text)
    before = job["uploaded_before"]
    if match is None or before is None:
        return None
    fresh = {
        f"{file['filename'].split('-')[1]} ({file['upload-time'][:10]})": None
        for file in index.files_of(_normal(match[2]))
        if file["filename"].endswith(".whl") and str(file.get("upload-time", "")) >= before
    }
    if not fresh:
        return None
    told = ", ".join(list(fresh)[-5:])
    text = f"no version of {match[1]} fits that was uploaded before {before[:10]}\nuploaded since: {told}"
    return JobError("age", text)


def _explain_missing(wanted: str, joined: str, job: dict[str, Any]) -> str:
    listed = re.search(r"\(from versions: ([^)]*)\)", joined)
    versions = listed[1] if listed else "none"
    if versions != "none":
        return f"no version of {wanted} fits\nthe index has {versions[-150:]}"
    age = "" if job["uploaded_before"] is None else f" uploaded before {job['uploaded_before'][:10]}"
    python = f"Python {sys.version_info[0]}.{sys.version_info[1]} on {sysconfig.get_platform()}"
    return f"the index has no wheel of {wanted}{age} for {python}"


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
        file = folder + ".whl"
        self._fetch(wheel, file)
        try:
            with zipfile.ZipFile(file) as archive:
                self.extract(archive, wheel["file"], folder)
        # Two entries for one file, or a file in the place of a folder.
        except (zipfile.BadZipFile, ValueError, NotImplementedError, FileExistsError, NotADirectoryError) as error:
            raise JobError("wheel", f"{wheel['file']} is not a valid wheel: {error}") from None
        os.unlink(file)
        self.compile(folder)

    def _fetch(self, wheel: dict[str, Any], file: str) -> None:
        digest = hashlib.sha256()
        try:
            with self.index.open(wheel["url"]) as answer, open(file, "wb") as target:
                with self._lock:
                    self.total += int(answer.headers.get("Content-Length") or 0)
                for block in _blocks(answer, wheel["url"]):
                    self._spend(len(block))
                    digest.update(block)
                    target.write(block)
                    self._note(len(block))
        except (urllib.error.HTTPError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            raise JobError("index", f"{wheel['file']} could not be fetched: {error!r}"[:300]) from None
        if digest.hexdigest() != wheel["sha256"]:
            raise JobError("hash", f"{wheel['file']} has the SHA-256 {digest.hexdigest()}\nexpected {wheel['sha256']}")

    def _note(self, size: int) -> None:
        with self._lock:
            self.done += size
            now = time.monotonic()
            if now - self._reported < 0.1:
                return
            self._reported = now
        report("progress", stage="fetch", done=self.done, total=self.total)

    def _spend(self, size: int) -> None:
        with self._lock:
            self.left -= size
            if self.left < 0:
                raise JobError("limit", "the packages are larger than the limit of the store")

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


def fetch_all(wheels: list[dict[str, Any]], index: Index, store: Store, max_bytes: int) -> int:
    """Fetches the wheels that the store lacks. Returns the number of bytes fetched."""
    missing = [wheel for wheel in wheels if not os.path.isdir(os.path.join(store.wheels, wheel["sha256"]))]
    download = Download(index, store, max_bytes)

    def fetch(wheel: dict[str, Any]) -> None:
        download.unpack(wheel, store.path(wheel["sha256"]))

    names = [f"{wheel['name']} {wheel['version']}" for wheel in missing]
    if names:
        report("progress", stage="fetch", names=names)
    with ThreadPoolExecutor(_DOWNLOADS) as pool:
        for _ in pool.map(fetch, missing):
            pass
    if missing:
        store.sync()
    for wheel in missing:
        store.publish(store.path(wheel["sha256"]), os.path.join(store.wheels, wheel["sha256"]))
    return download.done


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
    identity = hashlib.sha256(content.encode()).hexdigest()
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
    if not _is_alone(store):
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


def _is_alone(store: Store) -> bool:
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
    elif _is_alone(store):
        removed = [identity for identity in job["sets"] if _remove_set(os.path.join(store.sets, identity), store)]
        _remove_unused_wheels(store)
    else:
        removed = None
    if removed is None:
        raise JobError("busy", "packages are being installed, so nothing was removed")
    report("removed", sets=removed, bytes=max(0, size - _size_of(store.wheels)))


def build(job: dict[str, Any], store: Store) -> None:
    """Does the job and reports it."""
    index = Index(job, store)
    wheels: list[dict[str, Any]] = job["lock"] if job["lock"] is not None else resolve(job, index, store)
    if not wheels:
        report("done", set=None, packages=[], fetched_bytes=0, python=python_name())
        return
    make_room(store, job)
    fetched = fetch_all(wheels, index, store, job["max_bytes"])
    identity = publish_set(wheels, store)
    prune(store, job, identity)
    report("done", set=identity, packages=wheels, fetched_bytes=fetched, python=python_name())


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
        else:
            build(job, store)
    except JobError as failure:
        report("failed", kind=failure.kind, reason=_printable(str(failure)[:2000]))
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
