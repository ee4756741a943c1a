"""Runs `weir bench` as a person does; platform descriptions written by hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weir.results.expectations import Direction, ExpectedRate, RateVerdict
from weir.results.folder import load_run
from weir.results.platform import Platform, PlatformStage, Unit
from weir.results.platform_file import write_platform
from weir.results.record import Quantity
from weir.results.schema import Run

WEIR = Path(sys.executable).with_name("weir")
SECONDS = 240.0


@dataclass(frozen=True)
class Bench:
    """One finished job of one configuration: what was printed, and its run."""

    printed: str
    run: Run
    output: Path

    def expected(self, direction: Direction) -> ExpectedRate:
        assert self.run.expectation is not None
        (rate,) = [one for one in self.run.expectation.rates if one.direction == direction]
        return rate

    def judged(self, direction: Direction) -> RateVerdict:
        assert self.run.verdict is not None
        (rate,) = [
            one
            for one in self.run.verdict.rates
            if one.direction == direction and one.metric == "span"
        ]
        return rate

    def check_printed(self) -> None:
        """The expectation with a line for each stage stands before the run, the verdict after."""
        assert self.run.expectation is not None
        for rate in self.run.expectation.rates:
            said = self.printed.index(f"Expected {rate.direction} ")
            assert f"limited by {rate.limiting_stage}" in self.printed
            lines = self.printed[said:].splitlines()
            for stage in rate.stages:
                assert any(line.strip().startswith(f"{stage.name}  ") for line in lines)
            assert said < self.printed.index("1 done" if "1 done" in self.printed else "measured")


def bench(output: Path, *words: str) -> Bench:
    """`weir bench stream WORDS`, which has to succeed and to leave one run."""
    done = subprocess.run(
        [str(WEIR), "bench", "stream", *words, "--output", str(output)],
        capture_output=True, text=True, timeout=SECONDS, check=False,
        env={"COLUMNS": "400", "PATH": _path(), "HOME": "/root"},
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stderr}{done.stdout}"
    (folder,) = [file.parent for file in output.rglob("run.json")]
    return Bench(done.stdout, load_run(folder), output)


def _path() -> str:
    return f"{WEIR.parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


def described(rate: float, spread: float = 0.15) -> Quantity:
    return Quantity(value=rate, low=rate * (1 - spread), high=rate * (1 + spread))


def write_description(
    file: Path, stages: Sequence[PlatformStage], ranks_by_host: Mapping[str, int]
) -> Path:
    """A platform of these hosts, as a person would write it by hand."""
    platform = Platform(
        format="weir-platform",
        format_version=1,
        name=file.stem,
        hosts=len(ranks_by_host),
        ranks_per_host=max(ranks_by_host.values()),
        topology={"ranks_by_host": dict(ranks_by_host)},
        stages=list(stages),
    )
    write_platform(file, platform)
    return file


def units(rates: Mapping[str, float]) -> list[Unit]:
    return [Unit(name=name, rate_bytes_per_second=described(rate)) for name, rate in rates.items()]
