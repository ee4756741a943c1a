#include "interfaces/io_groups_setting.hpp"

#include <optional>
#include <string>

#include "topology/io_groups.hpp"

namespace weir::bench {

Setting io_groups_setting() {
  return {.metavar = "N|LIST",
          .complaint = [](const std::string& text) -> std::optional<std::string> {
            const auto parsed = topology::IoGroups::parse(text);
            if (parsed) return std::nullopt;
            return "names no I/O groups: " + parsed.error().message;
          }};
}

}  // namespace weir::bench
