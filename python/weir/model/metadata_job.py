"""What all metadata actions of a run share: the settings, and the number of working ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weir.model.flow_of_plan import flag, setting
from weir.results.metadata_rates import ItemOperation, MetadataRates, OperationRates
from weir.results.schema import Parameter, Plan

ON_TREES = ("tree-create", "tree-remove")
LISTINGS = ("readdir", "readdir-attributes")
BY_ONE_CREATOR = ("create", "mkdir", "unlink", "rmdir")


@dataclass(frozen=True)
class MetadataJob:
    """A plan, and the rates of the platform with which it is compared."""

    plan: Plan
    parameters: Mapping[str, Parameter]
    hosts: int
    rates: MetadataRates

    def text(self, name: str, default: str) -> str:
        return setting(self.parameters, name, default)

    def number(self, name: str, default: int) -> int:
        text = self.text(name, str(default))
        return int(float(text)) if text else default

    def operation(self, probed: ItemOperation) -> OperationRates:
        """Returns the operation's rates; if all clients are one, the rate of all is that of one."""
        found = self.rates.operations[probed]
        if self.rates.clients > 1 or found.one_client is not None:
            return found
        return found.model_copy(update={"one_client": found.all_clients or found.one_directory})

    @property
    def sharing(self) -> str:
        return self.text("sharing", "shared")

    @property
    def hands_on(self) -> bool:
        """Whether a node's ranks handle, in later phases, what another node's ranks made."""
        shift = self.parameters.get("rank_shift")
        kept = shift is not None and shift.origin != "default" and shift.value == 0
        return self.hosts > 1 and not kept

    @property
    def directories(self) -> int:
        """Number of directories of one tree, with its root."""
        branching = self.number("branching", 1)
        levels = range(self.number("depth", 0) + 1)
        return sum(int(branching**level) for level in levels)

    @property
    def holders(self) -> int:
        """Number of directories of one tree that contain items."""
        if flag(self.parameters, "leaf_only", default=False):
            return int(self.number("branching", 1) ** self.number("depth", 0))
        return self.directories

    def clients(self, action: str) -> int:
        """Returns how many ranks work on the action."""
        ranks = self.plan.ranks
        each_its_own = self.sharing == "per-rank"
        if action in ON_TREES:
            return ranks if each_its_own else 1
        if action in LISTINGS:
            return ranks if each_its_own else min(ranks, self.holders)
        if action in BY_ONE_CREATOR and flag(self.parameters, "one_creator", default=False):
            return 1
        return ranks

    def directories_of_busiest(self, action: str) -> int | None:
        """Returns the most directories that a rank lists, if ranks list unequal numbers.

        This happens if ranks take the directories of one tree round-robin.
        """
        if action not in LISTINGS or self.sharing == "per-rank":
            return None
        each, left = divmod(self.holders, self.plan.ranks)
        return each + 1 if each > 0 and left > 0 else None
