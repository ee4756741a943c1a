#include "topology/slurm_place.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace weir::topology {
namespace {

// Returns FNV-1a's number of a text (Fowler, Noll and Vo), which is not 0.
std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 14695981039346656037U;
  for (const char letter : text) {
    number ^= static_cast<unsigned char>(letter);
    number *= 1099511628211U;
  }
  return std::max<std::uint64_t>(1, number);
}

}  // namespace

SlurmPlace slurm_place(std::string_view address, std::string_view pattern) {
  constexpr std::string_view last_kind = ".node";
  if (!pattern.ends_with(last_kind)) return {};
  std::size_t begin = 0;
  for (auto parts = std::count(pattern.begin(), pattern.end(), '.'); parts > 0; --parts) {
    const std::size_t end = address.find('.', begin);
    if (end == std::string_view::npos || end == begin) return {};
    begin = end + 1;
  }
  if (begin == address.size()) return {};
  return {number_of(address), number_of(address.substr(0, begin))};
}

std::optional<IoGroups> groups_by_leaf(std::span<const SlurmPlace> nodes) {
  std::unordered_set<std::uint64_t> known;
  std::unordered_map<std::uint64_t, std::int64_t> group_of_leaf;
  std::vector<std::int64_t> group_of_node;
  group_of_node.reserve(nodes.size());
  for (const SlurmPlace& node : nodes) {
    if (node.node == 0 || !known.insert(node.node).second) return std::nullopt;
    const auto next = static_cast<std::int64_t>(group_of_leaf.size());
    group_of_node.push_back(group_of_leaf.try_emplace(node.leaf, next).first->second);
  }
  if (group_of_leaf.size() <= 1 || group_of_leaf.size() == nodes.size()) return std::nullopt;
  return IoGroups::of_nodes(group_of_node);
}

}  // namespace weir::topology
