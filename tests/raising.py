"""``pytest.raises`` for the programs of ranks, which load pytest as slowly as all they need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


class Raised:
    """What was raised, once the block has ended."""

    value: BaseException


@contextmanager
def raises(
    kind: type[BaseException] | tuple[type[BaseException], ...], *, match: str = ""
) -> Iterator[Raised]:
    """Fails if no error of this kind is raised inside, or one whose text has no ``match``."""
    raised = Raised()
    try:
        yield raised
    except kind as error:
        raised.value = error
        if not re.search(match, str(error)):
            raise AssertionError(f"{error!s} has no {match}") from error
    else:
        raise AssertionError(f"no {kind} with {match!r} was raised")
