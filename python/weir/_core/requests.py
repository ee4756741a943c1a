"""Keeps the requests of a session that have not ended, and the memory that they transfer."""

from __future__ import annotations

from ctypes import byref, c_int32, c_void_p
from typing import Any

from weir._core import library as c
from weir._core.failures import checked


class UnderWay:
    """One request that has begun and not ended."""

    def __init__(self, handle: c_void_p, memory: Any) -> None:
        self.handle = handle
        self.memory = memory
        self.is_dropped = False
        """Whether the program has dropped its `Request`."""

    def test(self) -> tuple[int, bool]:
        """Progresses without waiting; returns the library's code and whether the request ended."""
        complete = c_int32()
        code = c.library().weir_test(byref(self.handle), byref(complete))
        return code, bool(complete.value) or not self.handle


class Requests:
    """The requests of one session in the order in which they began; they end in the same order."""

    def __init__(self) -> None:
        self._under_way: list[UnderWay] = []
        self._first_failure: Exception | None = None
        """First failure of a request that the program did not wait for."""

    def add(self, handle: c_void_p, memory: Any) -> UnderWay:
        under_way = UnderWay(handle, memory)
        self._under_way.append(under_way)
        return under_way

    def remove(self, under_way: UnderWay) -> None:
        self._under_way.remove(under_way)

    def free_dropped(self) -> None:
        """Frees the memory of requests that have ended and that the program has dropped.

        The first failure is kept for `end`, and not raised here: ranks drop their requests at
        different times, and all of them must raise the failure in the same call.
        """
        for under_way in [one for one in self._under_way if one.is_dropped]:
            code, has_ended = under_way.test()
            if not has_ended:
                return
            self._under_way.remove(under_way)
            self._keep_failure(code)

    def end(self) -> None:
        """Waits for all requests, and raises the first failure that was not raised before."""
        for under_way in self._under_way:
            self._keep_failure(c.library().weir_wait(byref(under_way.handle)))
        self._under_way = []
        if self._first_failure is not None:
            failure, self._first_failure = self._first_failure, None
            raise failure

    def _keep_failure(self, code: int) -> None:
        try:
            checked(code)
        except Exception as failure:
            if self._first_failure is None:
                self._first_failure = failure
