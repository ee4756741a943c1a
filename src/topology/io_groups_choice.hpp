// A user chooses the I/O groups of a job by giving them, or by naming who tells of them.
//
//     text                  who tells
//     as for IoGroups       the user
//     "slurm"               Slurm; likewise "lnet", "cray"
//     "description:FILE"    a platform's description, which names the hosts of each group
//     "infiniband:FILE"     a record of an InfiniBand fabric
//     "discover"            the first of all these that makes groups
//     "discover:FILE"       the same, with a record of an InfiniBand fabric
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/status.hpp"
#include "topology/io_groups.hpp"
#include "topology/node_place.hpp"

namespace weir::topology {

struct IoGroupsChoice {
  // Fails if the text has none of these forms. The error does not repeat the text.
  static Result<IoGroupsChoice> parse(std::string_view text);

  // Returns the one source that is named, or nothing for all.
  [[nodiscard]] std::optional<PlaceSource> one_source() const { return source_named(source); }
  // Returns a text that differs between choices.
  [[nodiscard]] std::string text() const;

  std::optional<IoGroups> groups;  // as given; nothing: as the platform is described
  // In place of those: the word of a source, or "discover"; "": none.
  std::string source;
  std::string file;  // with a description, or a record of an InfiniBand fabric; "": none
};

}  // namespace weir::topology
