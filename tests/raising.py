"""``pytest.raises`` for the programs of ranks, which load pytest as slowly as all they need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def raises(kind: type[Exception], *, match: str) -> Iterator[None]:
    """Fails if no error of this kind is raised inside, or one whose text has no ``match``."""
    try:
        yield
    except kind as error:
        if not re.search(match, str(error)):
            raise AssertionError(f"{error!s} has no {match}") from error
    else:
        raise AssertionError(f"no {kind.__name__} with {match} was raised")
