// The adapters of an InfiniBand fabric, and the switches to which they are connected, by the output
// of ibnetdiscover. python/weir/platform/discovery/infiniband.py reads more of it, for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.hpp"
#include "topology/node_place.hpp"

namespace weir::topology {

class InfinibandFabric {
 public:
  // Larger than what the largest fabrics print.
  static constexpr std::size_t most_fabric_bytes = std::size_t{64} << 20;

  // Reads the channel adapters with their ports:
  //
  //     Ca  1 "H-0002c9030002f9d8"    # "n1 HCA-1"
  //     [1](2c9030002f9d9)   "S-0002c90200484b18"[1]    # lid 11 lmc 0 "leaf1" lid 3 4xEDR
  //
  // and passes over switches and routers, whose lines repeat the same cables. Fails by the line's
  // number if an adapter or its port has another form, or if an adapter is described twice; also if
  // no adapter is connected to a switch, or if the text is longer than most_fabric_bytes.
  static Result<InfinibandFabric> parse(std::string_view text);
  // Returns the lines of a text that parse() reads, which are a fabric of the same adapters.
  [[nodiscard]] static std::string adapters_in(std::string_view text);

  // Returns the place of a node below the switches to which its adapters are connected: those that
  // have one of these LIDs, or whose description begins with the host's name without its domain.
  // If there is no such adapter, the place is not known.
  [[nodiscard]] NodePlace place_of(std::string_view host, std::span<const std::int64_t> lids) const;

 private:
  struct Adapter {
    std::string key;   // "H-0002c9030002f9d8"
    std::string host;  // by the description
    std::vector<std::int64_t> lids;
    std::vector<std::string> switches;  // their keys
  };
  [[nodiscard]] Status add_adapter(std::string_view line);
  [[nodiscard]] Status add_port(std::string_view line);

  std::vector<Adapter> adapters_;
};

}  // namespace weir::topology
