#include "topology/node_place.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
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

// Removes a letter and the number behind it, such as "c12", from the front of a name.
bool take_part(std::string_view& name, char letter) {
  if (name.empty() || name.front() != letter) return false;
  const std::size_t end = name.find_first_not_of("0123456789", 1);
  const std::size_t length = std::min(end, name.size());
  name.remove_prefix(length);
  return length > 1;
}

// Removes the next line from the front of a text, and returns its words.
std::vector<std::string_view> take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  std::vector<std::string_view> words;
  constexpr std::string_view spaces = " \t\r";
  while (true) {
    const std::size_t begin = line.find_first_not_of(spaces);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    words.push_back(line.substr(0, line.find_first_of(spaces)));
    line.remove_prefix(words.back().size());
  }
}

}  // namespace

std::string_view word_of(PlaceSource source) {
  switch (source) {
    case PlaceSource::description:
      return "description";
    case PlaceSource::lnet:
      return "lnet";
    case PlaceSource::infiniband:
      return "infiniband";
    case PlaceSource::slurm:
      return "slurm";
    case PlaceSource::cray:
      return "cray";
  }
  return "?";
}

std::optional<PlaceSource> source_named(std::string_view word) {
  const auto* const found = std::find_if(place_sources.begin(), place_sources.end(),
                                         [word](PlaceSource one) { return word_of(one) == word; });
  return found == place_sources.end() ? std::nullopt : std::optional(*found);
}

std::string_view text_of(PlaceSource source) {
  switch (source) {
    case PlaceSource::description:
      return "the hosts of each group in a description";
    case PlaceSource::lnet:
      return "the LNet routers of each node";
    case PlaceSource::infiniband:
      return "the leaf switches of each node's InfiniBand";
    case PlaceSource::slurm:
      return "SLURM_TOPOLOGY_ADDR of each node";
    case PlaceSource::cray:
      return "Cray's name of each node";
  }
  return "?";
}

NodePlace place_named(std::string_view node, std::string_view shared) {
  return {number_of(node), number_of(shared)};
}

NodePlace place_by_slurm(std::string_view address, std::string_view pattern) {
  constexpr std::string_view last_kind = ".node";
  if (!pattern.ends_with(last_kind)) return {};
  std::size_t begin = 0;
  for (auto parts = std::count(pattern.begin(), pattern.end(), '.'); parts > 0; --parts) {
    const std::size_t end = address.find('.', begin);
    if (end == std::string_view::npos || end == begin) return {};
    begin = end + 1;
  }
  if (begin == address.size()) return {};
  return place_named(address, address.substr(0, begin));
}

NodePlace place_by_cray(std::string_view name) {
  std::string_view rest = name;
  std::size_t chassis_end = 0;
  bool is_name = false;
  if (take_part(rest, 'c')) {
    is_name = take_part(rest, '-') && take_part(rest, 'c');
    chassis_end = name.size() - rest.size();
    is_name = is_name && take_part(rest, 's') && take_part(rest, 'n');
  } else if (take_part(rest, 'x')) {
    is_name = take_part(rest, 'c');
    chassis_end = name.size() - rest.size();
    is_name = is_name && take_part(rest, 's') && take_part(rest, 'b') && take_part(rest, 'n');
  }
  if (!is_name || !rest.empty()) return {};
  return place_named(name, name.substr(0, chassis_end));
}

NodePlace place_by_lnet(std::string_view host, std::string_view routes) {
  std::set<std::string_view> routers;
  while (!routes.empty()) {
    const auto words = take_line(routes);
    if (words.empty() || words[0] == "Routing") continue;
    if (words.size() >= 2 && words[0] == "net" && words[1] == "hops") continue;
    // Older versions have no priority.
    if (words.size() != 4 && words.size() != 5) return {};
    const std::string_view state = words[words.size() - 2];
    const std::string_view router = words.back();
    if ((state != "up" && state != "down" && state != "NA") ||
        router.find('@') == std::string_view::npos) {
      return {};
    }
    if (state != "down") routers.insert(router);
  }
  if (routers.empty() || host.empty()) return {};
  std::string all;
  for (const std::string_view router : routers) all.append(router).append(1, ' ');
  return place_named(host, all);
}

std::optional<IoGroups> described_groups(std::span<const NodePlace> nodes) {
  std::unordered_map<std::uint64_t, std::int64_t> group_of_shared;
  std::vector<std::int64_t> group_of_node;
  group_of_node.reserve(nodes.size());
  for (const NodePlace& node : nodes) {
    if (node.node == 0) return std::nullopt;
    const auto next = static_cast<std::int64_t>(group_of_shared.size());
    group_of_node.push_back(group_of_shared.try_emplace(node.shared, next).first->second);
  }
  if (nodes.empty()) return std::nullopt;
  return IoGroups::of_nodes(group_of_node);
}

std::optional<IoGroups> groups_of_places(std::span<const NodePlace> nodes) {
  std::unordered_set<std::uint64_t> known;
  std::unordered_set<std::uint64_t> shared;
  for (const NodePlace& node : nodes) {
    if (!known.insert(node.node).second) return std::nullopt;
    shared.insert(node.shared);
  }
  if (shared.size() <= 1 || shared.size() == nodes.size()) return std::nullopt;
  return described_groups(nodes);
}

std::optional<FoundGroups> first_groups(std::span<const NodePlaces> nodes) {
  std::vector<NodePlace> places(nodes.size());
  for (const PlaceSource source : place_sources) {
    std::transform(nodes.begin(), nodes.end(), places.begin(), [source](const NodePlaces& node) {
      return node.at(static_cast<std::size_t>(source));
    });
    auto groups =
        source == PlaceSource::description ? described_groups(places) : groups_of_places(places);
    if (groups) return FoundGroups{*std::move(groups), source};
  }
  return std::nullopt;
}

}  // namespace weir::topology
