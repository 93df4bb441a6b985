"""The module `_ssl` of the embedded engine, for Python's own `ssl`: settings can be made, but nothing connects.

Values are those of CPython with OpenSSL 3. Programs compare the version; nothing of OpenSSL is here.
"""

from __future__ import annotations

import errno
import os
from typing import Any, NoReturn

OPENSSL_VERSION_NUMBER = 0x30000000
OPENSSL_VERSION_INFO = _OPENSSL_API_VERSION = (3, 0, 0, 0, 0)
OPENSSL_VERSION = "OpenSSL 3.0.0 (a stand-in: the embedded sandbox has no connections)"
_DEFAULT_CIPHERS = "DEFAULT"
HAS_SNI = HAS_ECDH = HAS_ALPN = HAS_TLS_UNIQUE = HAS_TLSv1_2 = HAS_TLSv1_3 = True
HAS_NPN = HAS_SSLv2 = HAS_SSLv3 = HAS_TLSv1 = HAS_TLSv1_1 = HAS_PSK = HAS_PHA = False
CERT_NONE, CERT_OPTIONAL, CERT_REQUIRED = range(3)
ENCODING_PEM, ENCODING_DER = 1, 2
HOSTFLAG_NEVER_CHECK_SUBJECT = 0x20
OP_ALL = 0x80000050
OP_NO_SSLv2 = OP_SINGLE_DH_USE = OP_SINGLE_ECDH_USE = 0
OP_NO_SSLv3, OP_NO_TLSv1, OP_NO_TLSv1_2, OP_NO_TLSv1_1, OP_NO_TLSv1_3 = (1 << bit for bit in range(25, 30))
OP_LEGACY_SERVER_CONNECT, OP_ENABLE_KTLS, OP_IGNORE_UNEXPECTED_EOF = 1 << 2, 1 << 3, 1 << 7
OP_NO_TICKET, OP_NO_COMPRESSION, OP_NO_RENEGOTIATION = 1 << 14, 1 << 17, 1 << 30
OP_ENABLE_MIDDLEBOX_COMPAT, OP_CIPHER_SERVER_PREFERENCE = 1 << 20, 1 << 22
PROTOCOL_SSLv23 = PROTOCOL_TLS = 2
PROTOCOL_TLSv1, PROTOCOL_TLSv1_1, PROTOCOL_TLSv1_2 = 3, 4, 5
PROTOCOL_TLS_CLIENT, PROTOCOL_TLS_SERVER = 16, 17
PROTO_MINIMUM_SUPPORTED, PROTO_MAXIMUM_SUPPORTED = -2, -1
PROTO_SSLv3, PROTO_TLSv1, PROTO_TLSv1_1, PROTO_TLSv1_2, PROTO_TLSv1_3 = range(0x300, 0x305)
SSL_ERROR_SSL, SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE, SSL_ERROR_WANT_X509_LOOKUP = 1, 2, 3, 4
SSL_ERROR_SYSCALL, SSL_ERROR_ZERO_RETURN, SSL_ERROR_WANT_CONNECT, SSL_ERROR_EOF = 5, 6, 7, 8
SSL_ERROR_INVALID_ERROR_CODE = 10
VERIFY_DEFAULT, VERIFY_CRL_CHECK_LEAF, VERIFY_CRL_CHECK_CHAIN, VERIFY_X509_STRICT = 0, 4, 12, 32
VERIFY_ALLOW_PROXY_CERTS, VERIFY_X509_TRUSTED_FIRST, VERIFY_X509_PARTIAL_CHAIN = 1 << 6, 1 << 15, 1 << 19
for _name, _number in {
    "CLOSE_NOTIFY": 0,
    "UNEXPECTED_MESSAGE": 10,
    "BAD_RECORD_MAC": 20,
    "HANDSHAKE_FAILURE": 40,
    "BAD_CERTIFICATE": 42,
    "CERTIFICATE_EXPIRED": 45,
    "CERTIFICATE_UNKNOWN": 46,
    "UNKNOWN_CA": 48,
    "PROTOCOL_VERSION": 70,
    "INTERNAL_ERROR": 80,
    "UNRECOGNIZED_NAME": 112,
}.items():
    globals()[f"ALERT_DESCRIPTION_{_name}"] = _number
_PURPOSES = (
    (129, "serverAuth", "TLS Web Server Authentication", "1.3.6.1.5.5.7.3.1"),
    (130, "clientAuth", "TLS Web Client Authentication", "1.3.6.1.5.5.7.3.2"),
)


class SSLError(OSError):
    """An error of a connection."""


class SSLZeroReturnError(SSLError):
    """The connection was closed."""


class SSLWantReadError(SSLError):
    """Nothing to read yet."""


class SSLWantWriteError(SSLError):
    """Nothing can be written yet."""


class SSLSyscallError(SSLError):
    """The system failed."""


class SSLEOFError(SSLError):
    """The connection was cut."""


class SSLCertVerificationError(SSLError, ValueError):
    """A certificate is not trusted."""


class _SSLContext:
    """Keeps what is set. Certificates are not read: there is no connection that they could be for."""

    __slots__ = (
        *("_host_flags", "_msg_callback", "check_hostname", "keylog_filename", "maximum_version", "minimum_version"),
        *("num_tickets", "options", "post_handshake_auth", "protocol", "security_level", "sni_callback"),
        *("verify_flags", "verify_mode"),
    )

    def __new__(cls, protocol: int = PROTOCOL_TLS, *_: object) -> Any:
        self: Any = super().__new__(cls)
        slots = _SSLContext.__dict__
        is_client = protocol == PROTOCOL_TLS_CLIENT
        for name, value in {
            "protocol": protocol,
            "check_hostname": is_client,
            "verify_mode": CERT_REQUIRED if is_client else CERT_NONE,
            "verify_flags": VERIFY_X509_TRUSTED_FIRST,
            "options": OP_ALL | OP_NO_SSLv3 | OP_NO_COMPRESSION | OP_ENABLE_MIDDLEBOX_COMPAT,
            "minimum_version": PROTO_TLSv1_2,
            "maximum_version": PROTO_MAXIMUM_SUPPORTED,
            "num_tickets": 2,
            "security_level": 2,
            "post_handshake_auth": False,
            "_host_flags": 0,
            **dict.fromkeys(("_msg_callback", "keylog_filename", "sni_callback")),
        }.items():
            slots[name].__set__(self, value)
        return self

    def _accept(self, *_: object, **__: object) -> None: ...

    load_cert_chain = load_verify_locations = load_dh_params = set_default_verify_paths = _accept
    set_ciphers = set_ecdh_curve = _set_alpn_protocols = _accept

    def get_ca_certs(self, *_: object, **__: object) -> list[object]:
        return []

    get_ciphers = get_ca_certs

    def cert_store_stats(self) -> dict[str, int]:
        return {"x509": 0, "crl": 0, "x509_ca": 0}

    def session_stats(self) -> dict[str, int]:
        return {}

    def _wrap_socket(self, *_: object, **__: object) -> NoReturn:
        _refuse()

    _wrap_bio = _wrap_socket


class MemoryBIO:
    """Part of a connection."""

    def __init__(self) -> None:
        _refuse()


class SSLSession:
    """Part of a connection."""


def _refuse() -> NoReturn:
    from bridge_kernel import missing

    raise OSError(errno.ENOTSUP, missing.SOCKETS)


def txt2obj(txt: str, name: bool = False) -> tuple[int, str, str, str]:
    """The purposes of certificates that `ssl` itself names."""
    for each in _PURPOSES:
        if txt == each[3] or (name and txt in each):
            return each
    raise ValueError(f"unknown object {txt[:100]!r}")


def nid2obj(nid: int, /) -> tuple[int, str, str, str]:
    """Same, by number."""
    for each in _PURPOSES:
        if each[0] == nid:
            return each
    raise ValueError(f"unknown NID {nid}")


def get_default_verify_paths() -> tuple[str, str, str, str]:
    """Where certificates would be."""
    return "SSL_CERT_FILE", "/etc/ssl/cert.pem", "SSL_CERT_DIR", "/etc/ssl/certs"


def RAND_bytes(n: int, /) -> bytes:  # noqa: N802 Named as in Python.
    """From the host."""
    return os.urandom(n)


def RAND_status() -> bool:  # noqa: N802 Named as in Python.
    """Always."""
    return True


def RAND_add(data: object, entropy: float, /) -> None:  # noqa: N802 Named as in Python.
    """Not needed."""


for _error in (SSLError, *SSLError.__subclasses__()):
    _error.__module__ = "ssl"
