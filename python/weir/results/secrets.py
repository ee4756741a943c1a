"""Which names may stand for a secret, so that their values are neither kept nor shown."""

from __future__ import annotations

import re

SECRET = re.compile(r"(?i)secret|token|password|credential|(^|_)key(_|$)")
OPTION = re.compile(r"(?P<name>[\w.-]+)=[^,\s]*")


def may_be_secret(name: str) -> bool:
    return SECRET.search(name) is not None


def without_secrets(options: str) -> str:
    """Returns options such as ``rw,secret=x`` without the values of those that may be secret."""

    def masked(found: re.Match[str]) -> str:
        name = found["name"]
        return f"{name}=(not shown)" if may_be_secret(name) else found[0]

    return OPTION.sub(masked, options)
