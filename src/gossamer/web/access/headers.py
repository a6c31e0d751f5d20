"""The headers that keep crawled content harmless, on every answer there is (FAULTS W4)."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Nobody else learns where we were; our own forms are told from a stranger's by their Origin, which "no-referrer"
    # would make "null", and Sec-Fetch-Site is not sent over plain HTTP beyond this machine (Fetch, 3.2; FAULTS W6).
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Robots-Tag": "noindex, nofollow",
    "Cache-Control": "no-cache",
}
