"""Users that the server accepts: JWTs with an HMAC (RFC 7515, RFC 7519)."""

import base64
import hashlib
import hmac
import json
import time

SECRET, ISSUER, AUDIENCE = "0123456789abcdef" * 2, "browsers", "checks"


def jwt(subject):
    """A JWT that identifies the subject for ten minutes."""
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "exp": int(time.time()) + 600}
    signed = ".".join(_text(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims))
    return f"{signed}.{_text(hmac.digest(SECRET.encode(), signed.encode(), hashlib.sha256))}"


def _text(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
