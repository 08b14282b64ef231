"""A certificate and its key, checked to fit each other before anything listens."""

import ssl
from pathlib import Path


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Load the certificate that clients are shown.

    Args:
        certificate: PEM chain, the server's own first.
        key: PEM, without a passphrase; nobody is asked for one.
    Raises:
        OSError: one cannot be read, or they are no pair; names both.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password="")
    except OSError as error:
        why = error.strerror if not isinstance(error, ssl.SSLError) else "not a certificate and its key in PEM"
        raise OSError(f"{certificate} with {key}: {why}") from error
    return context


def read_authorities(file: Path) -> bytes:
    """Read the authorities that clients' certificates are checked against, as PEM.

    Raises:
        OSError: it cannot be read, or holds no certificate; names the file.
    """
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(file)
        return file.read_bytes()
    except OSError as error:
        why = error.strerror if not isinstance(error, ssl.SSLError) else "no certificate in PEM"
        raise OSError(f"{file}: {why}") from error


def require_pair(certificate: Path | None, key: Path | None) -> None:
    """Hold settings to both or none: with one alone a port would be served without TLS.

    Raises:
        ValueError: one is missing.
    """
    if (certificate is None) != (key is None):
        raise ValueError("certificate_file and certificate_key_file go together")
