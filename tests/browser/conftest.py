"""A headless Chromium that reports whatever a page asks of the network or complains about."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@dataclass
class Opened:
    """A page and all it said: console messages, errors, requests, dialogs."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


Open = Callable[..., Opened]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="the Python package playwright is not installed"
    )
    named = os.environ.get("WEIR_TEST_BROWSER")
    found = [path for name in BROWSERS if (path := shutil.which(name))]
    program = named or next(iter(found), None)
    if program is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=CHROMIUM_ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_report(browser: Any) -> Iterator[Open]:
    contexts = []

    def opened(
        report: Path, *, fragment: str = "", width: int = 1240, dark: bool = False
    ) -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        result = Opened(context.new_page())
        page = result.page
        page.on("console", lambda message: result.complaints.append(message.text))
        page.on("pageerror", lambda error: result.complaints.append(str(error)))
        page.on("dialog", lambda dialog: result.complaints.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: result.requests.append(request.url))
        page.goto(report.as_uri() + fragment)
        return result

    yield opened
    for context in contexts:
        context.close()
