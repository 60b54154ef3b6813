"""The tokens of the console's forms: only a page that we made for this browser has them."""

import hmac


def form_token(secret: str) -> str:
    """What every form of whoever holds the secret carries."""
    return hmac.digest(secret.encode(), b"purple console form", "sha256").hex()


def is_form_of(secret: str, token: str) -> bool:
    return bool(secret) and hmac.compare_digest(form_token(secret).encode(), token.encode())


def place_after(wanted: str) -> str:
    """Where to go after a form: a page of the console, never another site."""
    plain = wanted.isprintable() and "\\" not in wanted and "//" not in wanted
    return wanted if plain and wanted.startswith("/console/") else "/console/"
