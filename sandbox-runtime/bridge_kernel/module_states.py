"""What modules keep for themselves and code relies on, such as levels of logging: how a checkpoint gets and sets it."""

from __future__ import annotations

import _signal as signal  # As in the supervisor: the public module is slow to import.
import sys
import time
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    from collections.abc import Callable
    from typing import Any

    Lost = dict[str, str]

_HANDLER = "a handler of its own kind"
_UNKNOWN = "settings of an unknown kind"
# What a module sets when code imports it, or where it draws to.
_NO_CHOICE = ("backend", "backend_fallback", "interactive")


def states(start_filters: list[Any]) -> tuple[dict[str, object], Lost]:
    """What `restore` takes, by module, as plain as it can be; and why others are not kept."""
    found: dict[str, object] = {}
    lost: Lost = {}
    for name, (get, _) in _STATES.items():
        if name in sys.modules:
            try:
                state = get(sys.modules[name])
            except Exception:  # noqa: BLE001 Another version of the module, or code has changed it.
                lost[name] = _UNKNOWN
                continue
            if state is not None:
                found[name] = state
    if warnings.filters != start_filters:
        found["warnings"] = list(warnings.filters)
    return found, lost | _other_handlers()


def restore(name: str, state: Any) -> bool:
    """Sets the state of a module; returns False if it is not known here."""
    if name == "warnings":
        # First, because only this function tells Python that the list has changed.
        warnings.resetwarnings()
        warnings.filters[:] = state  # pyright: ignore[reportIndexIssue]
    elif name in _STATES:
        __import__(name)
        _STATES[name][1](sys.modules[name], state)
    else:
        return False
    return True


def _signal_handlers(_: object) -> dict[int, object] | None:
    if not hasattr(signal, "valid_signals"):
        return None  # In WebAssembly.
    handlers = {int(number): signal.getsignal(number) for number in signal.valid_signals()}
    # That of SIGINT ends cells.
    return {
        number: handler for number, handler in handlers.items() if callable(handler) and number != signal.SIGINT
    } or None


def _set_signal_handlers(_: object, handlers: dict[int, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _limits(module: Any) -> dict[str, int]:
    digits = getattr(module, "get_int_max_str_digits", None)
    return {
        "recursionlimit": module.getrecursionlimit(),
        **({} if digits is None else {"int_max_str_digits": digits()}),
    }


def _set_limits(module: Any, limits: dict[str, int]) -> None:
    for name, limit in limits.items():
        getattr(module, f"set{'_' * (name != 'recursionlimit')}{name}")(limit)


def _pandas_options(pandas: Any) -> dict[str, object] | None:
    config = sys.modules.get("pandas._config.config")
    changed: dict[str, object] = {}
    for key, option in getattr(config, "_registered_options", {}).items():
        value: Any = getattr(config, "_global_config", {})
        for part in key.split("."):
            value = value[part]
        if value is not option.defval and value != option.defval:
            changed[key] = value
    return changed or None


def _set_pandas_options(pandas: Any, options: dict[str, object]) -> None:
    for key, value in options.items():
        pandas.set_option(key, value)


def _plot_parameters(matplotlib: Any) -> dict[str, object] | None:
    copy: Any = vars(dict)["copy"]  # Their own methods warn of old names.
    usual, now = copy(matplotlib.rcParamsDefault), copy(matplotlib.rcParams)
    return {key: value for key, value in now.items() if key not in _NO_CHOICE and usual.get(key) != value} or None


_STATES: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], object]]] = {
    "random": (lambda module: module.getstate(), lambda module, state: module.setstate(state)),
    "numpy.random": (lambda module: module.get_state(), lambda module, state: module.set_state(state)),
    "decimal": (lambda module: module.getcontext(), lambda module, state: module.setcontext(state)),
    "sys": (_limits, _set_limits),
    "_signal": (_signal_handlers, _set_signal_handlers),
    "locale": (
        lambda module: module.setlocale(module.LC_ALL),
        lambda module, state: module.setlocale(module.LC_ALL, state),
    ),
    "numpy": (
        lambda module: (module.get_printoptions(), module.geterr()),
        lambda module, state: (module.set_printoptions(**state[0]), module.seterr(**state[1])),
    ),
    "pandas": (_pandas_options, _set_pandas_options),
    "matplotlib": (_plot_parameters, lambda module, state: module.rcParams.update(state)),
}  # fmt: skip


def set_time_zone() -> None:
    """Makes the C library read the time zone from the environment again."""
    if hasattr(time, "tzset"):
        time.tzset()


def _loggers(logging: Any) -> dict[str, Any]:
    known = logging.root.manager.loggerDict.items()
    return {"": logging.root, **{name: logger for name, logger in known if isinstance(logger, logging.Logger)}}


def _logging_state(logging: Any) -> object:
    """Names of levels, the level that is disabled, and by logger what differs from a new one."""
    changed: dict[str, object] = {}
    for name, logger in _loggers(logging).items():
        handlers = [_kept_handler(logging, handler) for handler in logger.handlers]
        kept = [handler for handler in handlers if handler is not None]
        usual = logging.NOTSET if name else logging.WARNING
        if kept or logger.level != usual or logger.disabled or not logger.propagate:
            changed[name] = (logger.level, logger.disabled, logger.propagate, kept)
    return dict(logging._levelToName), logging.root.manager.disable, changed  # noqa: SLF001


def _other_handlers() -> Lost:
    logging: Any = sys.modules["logging"]  # asyncio loads it.
    return {
        f"logging.{name or 'root'}.handlers": _HANDLER
        for name, logger in _loggers(logging).items()
        for handler in logger.handlers
        if _kept_handler(logging, handler) is None and type(handler) is not logging.NullHandler
    }


def _kept_handler(logging: Any, handler: Any) -> object:
    """A handler that writes to the output or to a file, as plain values; None for any other."""
    formatter = handler.formatter
    if handler.filters or type(formatter) not in (logging.Formatter, type(None)):
        return None
    target = None
    if type(handler) is logging.FileHandler:
        target = handler.baseFilename
    elif type(handler) is logging.StreamHandler:
        for name in ("stdout", "stderr"):
            if handler.stream in (getattr(sys, name, None), getattr(sys, f"__{name}__")):
                target = name
    if target is None or formatter is None:
        return target and (target, handler.level, None)
    return target, handler.level, (formatter._fmt, formatter.datefmt, type(formatter._style).__name__)  # noqa: SLF001


def _restore_logging(
    logging: Any, state: tuple[dict[int, str], int, dict[str, tuple[int, bool, bool, list[Any]]]]
) -> None:
    levels, disabled, changed = state
    for level, text in levels.items():
        logging.addLevelName(level, text)
    logging.disable(disabled)
    styles = {kind.__name__: style for style, (kind, _) in logging._STYLES.items()}  # noqa: SLF001
    for name, (level, is_disabled, propagate, handlers) in changed.items():
        logger: logging.Logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.disabled, logger.propagate = is_disabled, propagate
        # An import may have added them.
        for target, least, texts in [] if logger.handlers else handlers:
            is_stream = target in ("stdout", "stderr")
            handler = logging.StreamHandler(getattr(sys, target)) if is_stream else logging.FileHandler(target)
            handler.setLevel(least)
            if texts is not None:
                handler.setFormatter(logging.Formatter(*texts[:2], style=styles[texts[2]]))
            logger.addHandler(handler)


_STATES["logging"] = _logging_state, _restore_logging
