"""A certificate for a proxy that stands in for servers of `https:`. It lasts as long as a session, and nobody but the
session's own browser, which has no other way out, takes it for theirs."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from ..nouns import UsageError

# Clocks of one machine do not differ; an application may set its own.
VALID = timedelta(days=30)


def context(hosts: Iterable[str]) -> ssl.SSLContext:
    """For a server that is all of these."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise UsageError("Addresses of https: need certificates.", "Run `pip install 'moire[https]'`.") from None

    def named(host: str) -> x509.GeneralName:
        try:
            return x509.IPAddress(ip_address(host))
        except ValueError:
            return x509.DNSName(host.encode("idna").decode())

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Moire, for one session")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - VALID)
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectAlternativeName([named(host) for host in sorted(set(hosts))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # It can be read from a file only.
    with tempfile.TemporaryDirectory(prefix="moire-") as folder:
        file = Path(folder) / "both.pem"
        file.touch(mode=0o600)
        file.write_bytes(secret + made.public_bytes(pem))
        found.load_cert_chain(file)
    return found
