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


CERTIFICATES = {
    9: "the certificate is not valid yet",
    10: "the certificate has expired",
    18: "the certificate is signed by nobody but itself",
    19: "the certificate comes from an authority that is not trusted",
    20: "the certificate comes from an authority that is not known, or a certificate between is not sent",
    21: "the certificate comes from an authority that is not known, or a certificate between is not sent",
    23: "the certificate has been revoked",
    62: "the certificate is for another name than this host's",
    64: "the certificate is for another address than this host's",
}
"""By OpenSSL's number for why a certificate was not verified."""
HANDSHAKES = {
    "WRONG_VERSION_NUMBER": "the server does not speak TLS there",
    "HTTP_REQUEST": "the server does not speak TLS there",
    "RECORD_LAYER_FAILURE": "the server does not speak TLS there",
    "UNSUPPORTED_PROTOCOL": "the server knows only versions of TLS before 1.2",
    "TLSV1_ALERT_PROTOCOL_VERSION": "the server does not take the versions of TLS that are offered (1.2 and 1.3)",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "the server takes none of the ciphers that are offered",
    "NO_SHARED_CIPHER": "the server takes none of the ciphers that are offered",
    "DH_KEY_TOO_SMALL": "the server's key is too weak",
    "EE_KEY_TOO_SMALL": "the server's key is too weak",
    "CA_MD_TOO_WEAK": "the certificate is signed in a way that is too weak",
    "TLSV1_UNRECOGNIZED_NAME": "the server does not know this host's name",
    "TLSV1_ALERT_UNRECOGNIZED_NAME": "the server does not know this host's name",
    "UNEXPECTED_EOF_WHILE_READING": "the server broke off while the connection was being secured",
}
"""By OpenSSL's name for what went wrong before anything was sent."""


def in_words(trouble: ssl.SSLError | ssl.CertificateError) -> str:
    """For people; what the library says is in `in_full`."""
    if isinstance(trouble, ssl.SSLCertVerificationError):
        return CERTIFICATES.get(trouble.verify_code, "the certificate cannot be trusted")
    return HANDSHAKES.get(trouble.reason or "", "the connection could not be secured")


def in_full(trouble: ssl.SSLError | ssl.CertificateError) -> str:
    """For the log, and for the archive, where a capture says why its server is not trusted."""
    if isinstance(trouble, ssl.SSLCertVerificationError):
        return f"certificate: {trouble.verify_message}"
    return getattr(trouble, "reason", None) or str(trouble)
