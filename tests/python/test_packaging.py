"""The wheel that `pip install .` makes: built, installed into an empty environment, called."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CLONE = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 600


def run(*command: str | Path, path: str = os.defpath) -> str:
    """Run a program with only `path` as PATH and return what it prints.

    Bytecode of the new environment stays in it: its next one has other files at the same paths.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPYCACHEPREFIX"}
    done = subprocess.run(
        command,
        cwd=CLONE,
        env=kept | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def has_simgrid() -> bool:
    """Returns whether there is the library without which weir-sim is left out."""
    asked = ("pkg-config", "--exists", "simgrid >= 3.32")
    return subprocess.run(asked, check=False, timeout=30).returncode == 0


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder, CLONE,
        path=os.environ["PATH"])  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.timeout(DEADLINE_SECONDS)
def test_the_wheel_holds_the_package_and_the_program(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {
        path.relative_to(CLONE / "python").as_posix()
        for path in (CLONE / "python" / "weir").rglob("*")
        if path.suffix in {".py", ".js", ".css"}
    }
    assert package <= names
    scripts = {name for name in names if ".data/scripts/" in name}
    simulator = {"weir-sim", "weir-sim-library"} if has_simgrid() else set()
    assert {Path(name).name for name in scripts} == {"weir-bench", "weir-stager"} | simulator
    data = {name.partition(".data/data/")[2] for name in names if ".data/data/" in name}
    assert data == {"libexec/weir/weir-hdf5-header"}
    built = ("weir", "weir_calls", "weir_files", "weir_mpiio", "weir_take_over")
    libraries = {f"weir/_core/lib{name}.so.0" for name in built}
    if re.search(r"-DWEIR_HDF5_VOL_WITH=[^;]", os.environ.get("SKBUILD_CMAKE_ARGS", "")):
        libraries.add("weir/_core/hdf5-plugin/libweir_hdf5_vol.so.0")
    assert {name for name in names if ".so" in name} == libraries
    # Other libraries and headers belong to `cmake --install`, not into a Python environment.
    assert not {name for name in names if name.endswith((".a", ".hpp", ".cmake", ".pc"))}


@pytest.mark.timeout(DEADLINE_SECONDS)
def test_an_environment_with_only_the_wheel_works(wheel: Path, tmp_path: Path) -> None:
    uv = Path(sys.executable).parent / "uv"
    environment = tmp_path / "environment"
    python = environment / "bin" / "python"
    requirements = tmp_path / "requirements.txt"
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    run(uv, "export", "-q", "--frozen", "--no-default-groups", "--no-emit-project",
        "-o", requirements)  # fmt: skip
    run(uv, "pip", "install", "-q", "--python", python, "--require-hashes", "-r", requirements)
    run(uv, "pip", "install", "-q", "--python", python, "--no-deps", wheel)
    # PATH does not name the environment: weir itself must find the program installed beside it.
    assert "bench" in run(environment / "bin" / "weir", "--help")
    assert "NO_PIX" in run(environment / "bin" / "weir-bench", "madbench", "--help")
    assert "NO_PIX" in run(environment / "bin" / "weir", "bench", "madbench", "--help")
