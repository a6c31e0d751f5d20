"""How a server proves who it is, and what is made of one that cannot."""

import ssl
from typing import NamedTuple

from gossamer.config.slices import Fetch


class Trust(NamedTuple):
    verified: ssl.SSLContext
    unverified: ssl.SSLContext | None
    """Only for those who asked for it (`tls = "record"`): tried after the other one has refused the certificate."""


def trust_of(settings: Fetch) -> Trust:
    """Both take TLS 1.2 and above; nothing of ours is ever sent that would need to be kept from the wrong server."""
    verified = ssl.create_default_context()
    if settings.tls_authorities is not None:
        verified.load_verify_locations(cafile=settings.tls_authorities)
    unverified = None
    if settings.tls == "record":
        unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        unverified.check_hostname = False
        unverified.verify_mode = ssl.CERT_NONE
    for asked in (verified, unverified):
        if asked is not None:
            asked.minimum_version = ssl.TLSVersion.TLSv1_2
            asked.set_alpn_protocols(["http/1.1"])
    return Trust(verified, unverified)


def in_words(trouble: ssl.SSLError) -> str:
    if isinstance(trouble, ssl.SSLCertVerificationError):
        return f"certificate: {trouble.verify_message}"
    return trouble.reason or str(trouble)
