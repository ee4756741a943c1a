#include "interfaces/node_settings.hpp"

#include <optional>
#include <string>

#include "topology/io_groups_choice.hpp"

namespace weir::bench {

Setting io_groups_setting() {
  return {.metavar = "N|LIST|SOURCE",
          .complaint = [](const std::string& text) -> std::optional<std::string> {
            const auto parsed = topology::IoGroupsChoice::parse(text);
            if (parsed) return std::nullopt;
            return "names no I/O groups: " + parsed.error().message;
          }};
}

Setting ranks_per_node_setting() {
  constexpr double most_ranks = 1e9;
  return {.metavar = "N", .range = {1, most_ranks}};
}

}  // namespace weir::bench
