// Nodes of a job are alike or not by what their descriptions say.
//
// Every node is compared with the first one. Nodes that differ from it in the same way are a kind.
// What is kept is bounded, however many nodes there are and however much they differ: this many
// kinds, this many bytes of differences for each, and this many ranges of places for each. Beyond
// that nodes are only counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weir::bench {

inline constexpr std::size_t most_node_kinds = 32;
inline constexpr std::size_t longest_node_difference = 8192;  // bytes of a kind's JSON text
inline constexpr std::size_t most_node_ranges = 128;

// Returns what must be changed in the description `first` to get `mine`, as a merge patch (RFC
// 7396), in which null is a value that `mine` lacks. Both are descriptions as describe_node()
// returns them. Left out is what differs between equal nodes too: the host's name, memory by up to
// a 64th, because kernels reserve more or less of it, the client's address among the mount options,
// what belongs to the directory or the job, and libraries and parameters of MPI that only one of
// the processes has loaded. Memory that differs is rounded to 7 binary digits, so that nodes of one
// size are alike.
[[nodiscard]] nlohmann::json node_difference(const nlohmann::json& first, nlohmann::json mine);

class NodeKinds {
 public:
  // Nodes follow each other by their places, of which the first is 0.
  static NodeKinds of_node(std::int64_t place, nlohmann::json difference);
  // Adds nodes with later places. If there are too many kinds, those with the fewest nodes go.
  void add(const NodeKinds& later);

  // Returns a `DescribedNodes` of run.json (python/weir/results/schema.py).
  [[nodiscard]] nlohmann::json record() const;
  // `record` is what record() has returned.
  static NodeKinds from_record(const nlohmann::json& record);

 private:
  struct Kind {
    std::int64_t nodes = 0;
    std::vector<std::array<std::int64_t, 2>> places;  // first and last of each range
    [[nodiscard]] std::int64_t placed() const;
    void add(const Kind& later);
  };

  void drop_smallest();

  std::int64_t described_ = 0;
  std::int64_t alike_ = 0;             // nodes that do not differ from the first one
  std::int64_t unlisted_ = 0;          // nodes of kinds that were dropped
  std::map<std::string, Kind> kinds_;  // by the JSON text of the differences and what was left out
};

}  // namespace weir::bench
