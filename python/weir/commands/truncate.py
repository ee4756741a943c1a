"""``weir truncate``: removes the last steps of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def truncate_command(
    path: Annotated[Path, typer.Argument(help="an HDF5, NetCDF, Zarr or raw file")],
    steps: Annotated[int, typer.Option("--steps", min=0, help="number of steps to keep")],
) -> None:
    """Keep the first steps of a file of arrays and take the others away, for good.

    So a run starts again from an earlier checkpoint. Whenever this is killed, the file has the
    steps of before or of after. It is refused where another program writes to the file.
    """
    # Imported here so that the command line starts without it.
    from weir._core.files import drop_steps  # noqa: PLC0415

    drop_steps(path, steps)


def add_to(app: typer.Typer) -> None:
    """Adds the commands of this module."""
    app.command("truncate")(truncate_command)
