"""A file of constants: what the parts of a file system do that share servers, in figures.

``weir explore --constants`` writes one with what it found, and simulates a machine by one.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

import tomli_w
from pydantic import Field, ValidationError, model_validator

from weir.results.errors import ResultError
from weir.results.folder import describe_validation, read_text, write_atomically
from weir.results.record import Quantity, Record

HEAD = """\
# Constants of a file system whose servers share targets; docs/next.md says what each of them is.
# Rates are bytes per second; a figure is a value with an interval, or a number alone.

"""


class Constants(Record):
    """The constants of the model of ``weir.follow_up.shared_servers``."""

    format: Literal["weir-constants"] = "weir-constants"
    format_version: Literal[1] = 1
    platform: str = Field(description="name of the description of the parts")
    source: str = ""
    limit_targets: Quantity = Field(
        description="the whole delivers at most so many targets' rate (O of Uselton's equation 4)"
    )
    server_bytes_per_second: list[Quantity] = Field(
        min_length=1, description="rate of a server with 1, 2, ... busy targets, one file on each"
    )
    crowded_bytes_per_second: Quantity = Field(
        description="rate of a target with very many tasks on the whole machine (r_R)"
    )
    crowded_tasks: Quantity = Field(
        description="tasks at which the time of a target has changed by half (T)"
    )
    crowded_width_tasks: Quantity = Field(description="width of that transition (tau)")
    controller_bytes_per_second: Quantity = Field(description="rate of a controller")

    @model_validator(mode="after")
    def _is_above_zero(self) -> Constants:
        if any(one.value <= 0 for one in self.in_order):
            raise ValueError("every constant must be above 0")
        return self

    @property
    def in_order(self) -> list[Quantity]:
        """The constants in the order of the model's parameters."""
        return [
            self.limit_targets,
            *self.server_bytes_per_second,
            self.crowded_bytes_per_second,
            self.crowded_tasks,
            self.crowded_width_tasks,
            self.controller_bytes_per_second,
        ]


def load_constants(path: Path) -> Constants:
    """Reads and checks a file of constants; raises ``ResultError`` with the place of a fault."""
    text = read_text(path)
    try:
        return Constants.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ResultError(f"{path} is not TOML: {error}") from None
    except ValidationError as error:
        raise ResultError(f"{path}: {describe_validation(error)}") from None


def write_constants(path: Path, constants: Constants) -> Path:
    return write_atomically(path, HEAD + tomli_w.dumps(constants.model_dump(mode="json")))
