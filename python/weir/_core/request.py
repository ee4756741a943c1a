"""Requests that are under way, as ``weir`` exports them."""

from __future__ import annotations

from ctypes import byref
from typing import TYPE_CHECKING

from weir._core import library as c
from weir._core.failures import checked

if TYPE_CHECKING:
    from weir._core.requests import UnderWay
    from weir._core.session import Session


class Request:
    """A write or read in progress; the program must not change its memory before it has ended.

    The session keeps that memory alive until then, even if this object is deleted. A request that
    the program does not wait for is carried out too, and `Session.close` raises its failure.
    """

    def __init__(self, session: Session, under_way: UnderWay) -> None:
        self.session = session
        self._under_way = under_way

    def __del__(self) -> None:
        self._under_way.is_dropped = True

    def wait(self) -> None:
        """Waits until the request has ended; raises what the blocking call would raise.

        Every rank must end the request, by `wait` or `test`, in any order among its requests.
        """
        if self.session.handle and self._under_way.handle:
            code = c.library().weir_wait(byref(self._under_way.handle))
            self.session.requests.remove(self._under_way)
            checked(code)

    def test(self) -> bool:
        """Progresses without waiting and returns whether the request has ended.

        Raises the failure of a request that has failed. A request progresses only inside calls of
        Weir, so it can end only if every rank calls Weir.
        """
        if not (self.session.handle and self._under_way.handle):
            return True
        code, complete = self._under_way.test()
        if complete:
            self.session.requests.remove(self._under_way)
        checked(code)
        return complete

    def detach(self) -> None:
        """Gives the memory back to the program at once, without waiting for the request. Local.

        Data still to be written is copied; data that the request reads is discarded. The request
        progresses in later calls of the session, and this rank does not learn how it ends. In
        contrast, a request whose object is deleted keeps its memory until it has ended.
        """
        if self.session.handle and self._under_way.handle:
            code = c.library().weir_request_detach(byref(self._under_way.handle))
            self.session.requests.remove(self._under_way)
            checked(code)
