"""What `explain` says of a write that stagers take over, in sessions with stagers and without."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from mpi_launcher import BUILD, SMALL_BUFFERS, environment, launcher

ARRAY = ("array", "--api", "weir", "--explain", "--shape", "64x64", "--no-verify")
ONCE = ("--warmups", "0", "--repetitions", "1", "--max-repetitions", "1")
FIGURE = r"([\d.e-]+) s"


@pytest.mark.parametrize("staging", ["none", "node"])
def test_a_session_explains_what_its_stagers_take(
    staging: str, tmp_path: Path, stager: dict[str, str]
) -> None:
    variables = {**stager, **SMALL_BUFFERS, "WEIR_STAGING": staging}
    words = (*ARRAY, *ONCE, "--directory", str(tmp_path), "--output", str(tmp_path / "results"))
    ended = subprocess.run(
        [*launcher(), "-n", "2", str(BUILD / "bench" / "weir-bench"), *words],
        env=environment(variables), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    said = ended.stdout + ended.stderr
    (line,) = {one.strip() for one in said.splitlines() if one.strip().startswith("staging: ")}
    who = "a stager" if staging == "node" else r"a stager \(WEIR_STAGING=node\)"
    found = re.match(
        rf"staging: with {who}, the ranks are blocked for {FIGURE} \(copies {FIGURE}, links 0 s\), "
        rf"and storing goes on for {FIGURE} behind them; the ranks' own write takes {FIGURE} "
        r"\(\w+\), so staging is ",
        line,
    )
    assert found, line
    blocked, copies, storing, own = map(float, found.groups())
    assert blocked == copies > 0
    assert storing > 0
    assert ("not worth it" in line) == (blocked >= own)
    merged = "because a stager merges what ranks hand over" in said
    assert merged == (staging == "node")
