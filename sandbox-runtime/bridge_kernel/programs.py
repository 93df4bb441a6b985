"""`runtime.run` and `runtime.run_snippet`: programs in any language, each in a fresh sandbox that the host starts."""

from __future__ import annotations

from bridge_kernel import values
from bridge_kernel.pending import Pending
from bridge_kernel.shell import RunResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bridge_kernel.servers import Host

    Content = str | bytes
    Files = Mapping[str, Content]

# One call carries all of them in base64, within the longest line that the host accepts.
_MAX_BYTES = 5 << 20


class ProgramResult(RunResult):
    """How a program ended, what it wrote, and its files."""

    def __init__(self, answer: Mapping[str, object]) -> None:
        import base64

        code = answer["exit_code"]
        self.status = str(answer["status"])
        """`success`, `error` or `timeout`."""
        self.exit_code = code if isinstance(code, int) else None
        """None if it was ended at its deadline."""
        self.stdout = str(answer["stdout"])
        self.stderr = str(answer["stderr"])
        self.dropped_bytes = _number(answer["dropped_bytes"])
        """Output beyond what is kept of each stream."""
        self.duration_ms = _number(answer["duration_ms"])
        self.files: dict[str, bytes] = {
            str(file["name"]): base64.b64decode(str(file["content"]))
            for file in map(values.as_dict, values.as_list(answer["files"]))
        }
        """New and changed files by name, if `wants_files` was set."""

    def __repr__(self) -> str:
        text = super().__repr__()
        return f"{text}\n[files: {', '.join(sorted(self.files))}]" if self.files else text


class Run:
    """Runs code in another language; the manual lists those that are here (await, or `.sync`)."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def __call__(
        self, language: str, code: str, *, files: Files | None = None, args: Sequence[object] = (),
        stdin: Content = "", timeout: float | None = None, wants_files: bool = False,
    ) -> Pending:  # fmt: skip
        """A deadline in seconds ends the program; its status is then `timeout`."""
        params = _params({"language": language, "code": code}, files, args, stdin, timeout, wants_files)
        return _pending(self._host, "runtime.run(...)", params)

    def sync(
        self, language: str, code: str, *, files: Files | None = None, args: Sequence[object] = (),
        stdin: Content = "", timeout: float | None = None, wants_files: bool = False,
    ) -> ProgramResult:  # fmt: skip
        """The same, and waits here."""
        params = _params({"language": language, "code": code}, files, args, stdin, timeout, wants_files)
        return ProgramResult(values.as_dict(self._host.call_sync("run_program", params)))


class RunSnippet:
    """Runs a stored snippet (await, or `.sync`)."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def __call__(
        self, name: str, *, files: Files | None = None, args: Sequence[object] = (), stdin: Content = "",
        timeout: float | None = None, wants_files: bool = False,
    ) -> Pending:  # fmt: skip
        """See `runtime.run`."""
        params = _params({"snippet": name}, files, args, stdin, timeout, wants_files)
        return _pending(self._host, "runtime.run_snippet(...)", params)

    def sync(
        self, name: str, *, files: Files | None = None, args: Sequence[object] = (), stdin: Content = "",
        timeout: float | None = None, wants_files: bool = False,
    ) -> ProgramResult:  # fmt: skip
        """The same, and waits here."""
        params = _params({"snippet": name}, files, args, stdin, timeout, wants_files)
        return ProgramResult(values.as_dict(self._host.call_sync("run_program", params)))


def _pending(host: Host, label: str, params: dict[str, object]) -> Pending:
    async def run() -> object:
        return ProgramResult(values.as_dict(await host.call("run_program", params)))

    return Pending(label, run, depth=3)


def _params(
    source: dict[str, str], files: Files | None, args: Sequence[object], stdin: Content,
    timeout: float | None, wants_files: bool,
) -> dict[str, object]:  # fmt: skip
    for name, text in source.items():
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{name} must be text (str), not {type(text).__name__}")
    if isinstance(args, (str, bytes)):
        raise TypeError(f"args must be a list, such as [{args!r}]")
    contents = {name: _bytes(f"the file {name!r}", content) for name, content in (files or {}).items()}
    given = _bytes("stdin", stdin)
    size = len(source.get("code", "")) + len(given) + sum(map(len, contents.values()))
    if size > _MAX_BYTES:
        raise ValueError(f"code, files and stdin have {size:,} bytes; the limit is {_MAX_BYTES:,} bytes")
    params: dict[str, object] = {
        **source,
        "files": [{"name": name, "content": _base64(content)} for name, content in contents.items()],
        "args": [str(each) for each in args],
        "stdin": _base64(given),
        "wants_files": bool(wants_files),
    }
    if timeout is not None:
        params["timeout"] = timeout
    return params


def _bytes(what: str, content: object) -> bytes:
    if isinstance(content, str):
        return content.encode("utf-8", "surrogatepass")
    if isinstance(content, (bytes, bytearray)):
        return bytes(content)
    raise TypeError(f"{what} must be str or bytes, not {type(content).__name__}")


def _base64(content: bytes) -> str:
    import base64

    return base64.b64encode(content).decode("ascii")


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
