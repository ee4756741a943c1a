#include "topology/network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "topology/topology.hpp"
#include "topology/whole_number.hpp"

namespace weir::topology {
namespace {

constexpr const char* network_forms =
    "give the extents of a torus, such as 8x8x16, of a mesh, such as mesh:8x8x16, the number of "
    "nodes of each switch, such as switches:16, a tree with several switches above, such as "
    "fat-tree:16x8, or a dragonfly, such as dragonfly:4x8x2x9";

// Calls visit(part) for each part of a text between separators, until one fails.
template <typename Visit>
Status for_each_part(std::string_view text, char separator, Visit visit) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (Status status = visit(text.substr(begin, end - begin)); !status) return status;
    begin = end + 1;
  }
  return {};
}

// Returns whole numbers from 1 to Network::most_places between crosses; empty if there are not
// `count` of them, or if their product is larger than that.
std::vector<std::int64_t> numbers_between_crosses(std::string_view text, std::size_t count) {
  std::vector<std::int64_t> numbers;
  std::int64_t product = 1;
  bool fits = true;
  const Status read = for_each_part(text, 'x', [&](std::string_view part) -> Status {
    const auto number = whole_number(part, 1, Network::most_places / product);
    fits = fits && number.has_value() && numbers.size() < count;
    if (fits) numbers.push_back(*number);
    if (fits) product *= *number;
    return {};
  });
  if (!read || !fits || numbers.size() != count) numbers.clear();
  return numbers;
}

double weight_at(const std::map<std::int64_t, double>& weights, std::int64_t key) {
  const auto at = weights.find(key);
  return at == weights.end() ? 0.0 : at->second;
}

// Numbers of a dragonfly's links are 3 × index + kind.
constexpr std::int64_t of_node = 0;
constexpr std::int64_t in_group = 1;
constexpr std::int64_t between_groups = 2;

// Replaces weights at the coordinates of a line by the sums of weight × distance to each of them.
// One step along the line takes the weight behind it one further and the weight before it one
// nearer.
void sum_along_line(std::vector<double>& values) {
  const std::vector<double> weights = values;
  double before = 0;  // weight at larger coordinates
  double sum = 0;
  for (std::size_t at = 0; at < weights.size(); ++at) {
    before += weights[at];
    sum += weights[at] * static_cast<double>(at);
  }
  double behind = 0;
  for (std::size_t at = 0; at < weights.size(); ++at) {
    values[at] = sum;
    behind += weights[at];
    before -= weights[at];
    sum += behind - before;
  }
}

// Replaces weights at the coordinates of a ring by the sums of weight × distance to each of them.
// One half of the ring is ahead of a coordinate and the other half behind it. With an odd number of
// coordinates, one step changes nothing for the weight that is just past the middle.
void sum_along_ring(std::vector<double>& values) {
  const std::vector<double> weights = values;
  const auto extent = static_cast<std::int64_t>(weights.size());
  const auto at = [&](std::int64_t coordinate) {
    return weights[static_cast<std::size_t>(coordinate % extent)];
  };
  double sum = 0;
  double all = 0;
  double ahead = 0;  // weight at 1 to extent / 2 steps ahead
  for (std::int64_t c = 0; c < extent; ++c) {
    sum += at(c) * static_cast<double>(std::min(c, extent - c));
    all += at(c);
    if (c >= 1 && c <= extent / 2) ahead += at(c);
  }
  for (std::int64_t c = 0; c < extent; ++c) {
    values[static_cast<std::size_t>(c)] = sum;
    const double unchanged = extent % 2 == 1 && extent > 1 ? at(c + extent / 2 + 1) : 0;
    sum += all - ahead - unchanged - ahead;
    ahead += at(c + 1 + extent / 2) - at(c + 1);
  }
}

}  // namespace

Result<Network> Network::parse(std::string_view text) {
  Network network;
  const std::size_t colon = text.find(':');
  const std::string_view kind = colon == std::string_view::npos ? "torus" : text.substr(0, colon);
  std::string_view rest = colon == std::string_view::npos ? text : text.substr(colon + 1);
  if (kind == "switches" || kind == "fat-tree" || kind == "dragonfly") {
    const Status read = kind == "switches"   ? network.read_switches(rest)
                        : kind == "fat-tree" ? network.read_fat_tree(rest)
                                             : network.read_dragonfly(rest);
    if (!read) return read.error();
    return network;
  }
  if (kind != "torus" && kind != "mesh") {
    return invalid_argument(fmt::format("the kind of network is not known: {}", network_forms));
  }
  network.kind_ = kind == "torus" ? Kind::torus : Kind::mesh;
  const std::size_t list = rest.find('@');
  if (Status status = network.read_extents(rest.substr(0, list)); !status) return status.error();
  if (list == std::string_view::npos) return network;
  if (Status status = network.read_coordinates(rest.substr(list + 1)); !status) {
    return status.error();
  }
  return network;
}

Status Network::read_switches(std::string_view text) {
  const auto nodes = whole_number(text, 1, most_places);
  if (!nodes) {
    return invalid_argument(
        fmt::format("the nodes of a switch are not a whole number from 1 to {}: {}", most_places,
                    network_forms));
  }
  kind_ = Kind::switches;
  per_switch_ = *nodes;
  return {};
}

Status Network::read_fat_tree(std::string_view text) {
  const auto numbers = numbers_between_crosses(text, 2);
  if (numbers.empty()) {
    return invalid_argument(
        fmt::format("a fat tree is not the nodes of each switch and the number of switches above "
                    "them, with a product of at most {}: {}",
                    most_places, network_forms));
  }
  kind_ = Kind::switches;
  per_switch_ = numbers[0];
  above_ = numbers[1];
  return {};
}

Status Network::read_dragonfly(std::string_view text) {
  const auto numbers = numbers_between_crosses(text, 4);
  if (numbers.empty()) {
    return invalid_argument(
        fmt::format("a dragonfly is not the nodes of each switch, the switches of each group, the "
                    "links of each switch to other groups, and the groups, with a product of at "
                    "most {}: {}",
                    most_places, network_forms));
  }
  kind_ = Kind::dragonfly;
  per_switch_ = numbers[0];
  switches_per_group_ = numbers[1];
  links_per_switch_ = numbers[2];
  groups_ = numbers[3];
  if (switches_per_group_ * links_per_switch_ < groups_ - 1) {
    return invalid_argument(
        fmt::format("a group of the dragonfly has {} links, and there are {} other groups: give "
                    "more links or fewer groups",
                    switches_per_group_ * links_per_switch_, groups_ - 1));
  }
  return {};
}

Status Network::read_extents(std::string_view text) {
  std::int64_t places = 1;
  Status status = for_each_part(text, 'x', [&](std::string_view part) -> Status {
    const auto extent = whole_number(part, 1, longest_dimension);
    if (!extent) {
      return invalid_argument(fmt::format("extent {} is not a whole number from 1 to {}: {}",
                                          extents_.size() + 1, longest_dimension, network_forms));
    }
    extents_.push_back(*extent);
    places *= *extent;
    if (extents_.size() > most_dimensions || places > most_places) {
      return invalid_argument(
          fmt::format("the network has more than {} dimensions or {} places: give fewer",
                      most_dimensions, most_places));
    }
    return {};
  });
  if (!status) return status;
  strides_.assign(extents_.size(), 1);
  for (std::size_t d = extents_.size() - 1; d > 0; --d) strides_[d - 1] = strides_[d] * extents_[d];
  return {};
}

Status Network::read_coordinates(std::string_view text) {
  std::vector<std::int64_t> listed;
  Status status = for_each_part(text, ',', [&](std::string_view node) -> Status {
    std::size_t dimension = 0;
    std::int64_t place = 0;
    const bool has_room = static_cast<std::int64_t>(listed.size()) < most_listed_nodes;
    if (!has_room) {
      return invalid_argument(
          fmt::format("coordinates of more than {} nodes are listed: give fewer, or none if they "
                      "are in row-major order",
                      most_listed_nodes));
    }
    bool fits = true;
    Status read = for_each_part(node, '.', [&](std::string_view part) -> Status {
      if (dimension < extents_.size()) {
        const auto coordinate = whole_number(part, 0, extents_[dimension] - 1);
        fits = fits && coordinate.has_value();
        place += coordinate.value_or(0) * strides_[dimension];
      }
      ++dimension;
      return {};
    });
    if (!read || !fits || dimension != extents_.size()) {
      return invalid_argument(fmt::format(
          "the coordinates of node {} are not {} numbers, each below the extent of its dimension: "
          "give coordinates such as {}",
          listed.size(), extents_.size(), fmt::join(std::vector<int>(extents_.size(), 0), ".")));
    }
    listed.push_back(place);
    return {};
  });
  if (!status) return status;
  listed_ = std::make_shared<const std::vector<std::int64_t>>(std::move(listed));
  return {};
}

std::string Network::text() const {
  if (kind_ == Kind::switches && above_ == 1) return fmt::format("switches:{}", per_switch_);
  if (kind_ == Kind::switches) return fmt::format("fat-tree:{}x{}", per_switch_, above_);
  if (kind_ == Kind::dragonfly) {
    return fmt::format("dragonfly:{}x{}x{}x{}", per_switch_, switches_per_group_, links_per_switch_,
                       groups_);
  }
  std::string text =
      fmt::format("{}{}", kind_ == Kind::mesh ? "mesh:" : "", fmt::join(extents_, "x"));
  if (listed_ == nullptr) return text;
  std::vector<std::int64_t> coordinates(extents_.size());
  for (std::size_t node = 0; node < listed_->size(); ++node) {
    for (std::size_t d = 0; d < extents_.size(); ++d) {
      coordinates[d] = coordinate(static_cast<std::int64_t>(node), d);
    }
    text += fmt::format("{}{}", node == 0 ? "@" : ",", fmt::join(coordinates, "."));
  }
  return text;
}

bool operator==(const Network& a, const Network& b) {
  const bool same_list = a.listed_ == b.listed_ ||
                         (a.listed_ != nullptr && b.listed_ != nullptr && *a.listed_ == *b.listed_);
  return same_list && a.kind_ == b.kind_ && a.extents_ == b.extents_ &&
         a.per_switch_ == b.per_switch_ && a.above_ == b.above_ &&
         a.switches_per_group_ == b.switches_per_group_ &&
         a.links_per_switch_ == b.links_per_switch_ && a.groups_ == b.groups_;
}

std::int64_t Network::places() const {
  if (kind_ == Kind::dragonfly) return per_switch_ * switches_per_group_ * groups_;
  return strides_.front() * extents_.front();
}

std::int64_t Network::links_between_groups() const {
  return switches_per_group_ * links_per_switch_ / std::max<std::int64_t>(1, groups_ - 1);
}

// The links of a group go round-robin to the other groups, and belong round-robin to its switches.
std::int64_t Network::gateway(std::int64_t from, std::int64_t to, std::int64_t node) const {
  const std::int64_t other = to < from ? to : to - 1;
  const std::int64_t link = other + (groups_ - 1) * (node % links_between_groups());
  return from * switches_per_group_ + link % switches_per_group_;
}

Status Network::check_nodes(std::int64_t nodes) const {
  if (kind_ == Kind::switches) return {};
  if (listed_ != nullptr && nodes != static_cast<std::int64_t>(listed_->size())) {
    return invalid_argument(fmt::format(
        "network lists the coordinates of {} node{}, but the ranks are on {}: list those of each "
        "node, in the order of the nodes' first ranks",
        listed_->size(), listed_->size() == 1 ? "" : "s", nodes));
  }
  if (listed_ == nullptr && nodes > places()) {
    return invalid_argument(
        fmt::format("network {} has {} place{}, but the ranks are on {} nodes: give larger extents",
                    text(), places(), places() == 1 ? "" : "s", nodes));
  }
  return {};
}

std::int64_t Network::place_of(std::int64_t node) const {
  return listed_ == nullptr ? node : (*listed_)[static_cast<std::size_t>(node)];
}

std::int64_t Network::coordinate(std::int64_t node, std::size_t dimension) const {
  return place_of(node) / strides_[dimension] % extents_[dimension];
}

std::int64_t Network::steps(std::int64_t from, std::int64_t to, std::size_t dimension) const {
  if (kind_ == Kind::mesh) return to - from;
  const std::int64_t extent = extents_[dimension];
  const std::int64_t ascending = (to - from + extent) % extent;
  return ascending <= extent - ascending ? ascending : ascending - extent;
}

std::int64_t Network::hops(std::int64_t from, std::int64_t to) const {
  if (kind_ == Kind::switches) {
    if (from == to) return 0;
    return switch_of(from) == switch_of(to) ? 2 : 4;
  }
  if (kind_ == Kind::dragonfly) {
    std::vector<std::int64_t> links;
    route_in_dragonfly(from, to, links);
    return std::ssize(links);
  }
  std::int64_t hops = 0;
  for (std::size_t d = 0; d < extents_.size(); ++d) {
    hops += std::abs(steps(coordinate(from, d), coordinate(to, d), d));
  }
  return hops;
}

// Each node has a link upwards and one down to it, and so does each switch for each one above.
void Network::route_in_tree(std::int64_t from, std::int64_t to,
                            std::vector<std::int64_t>& links) const {
  if (from == to) return;
  links.push_back(from * 4);
  if (switch_of(from) != switch_of(to)) {
    links.push_back((switch_of(from) * above_ + to % above_) * 4 + 2);
    links.push_back((switch_of(to) * above_ + to % above_) * 4 + 3);
  }
  links.push_back(to * 4 + 1);
}

void Network::route_in_dragonfly(std::int64_t from, std::int64_t to,
                                 std::vector<std::int64_t>& links) const {
  if (from == to) return;
  const auto add_in_group = [&](std::int64_t one, std::int64_t other) {
    if (one == other) return;
    links.push_back((one * switches_per_group_ + other % switches_per_group_) * 3 + in_group);
  };
  const std::int64_t from_group = group_of(switch_of(from));
  const std::int64_t to_group = group_of(switch_of(to));
  links.push_back(from * 2 * 3 + of_node);
  if (from_group == to_group) {
    add_in_group(switch_of(from), switch_of(to));
  } else {
    const std::int64_t parallel = links_between_groups();
    add_in_group(switch_of(from), gateway(from_group, to_group, to));
    links.push_back(((from_group * groups_ + to_group) * parallel + to % parallel) * 3 +
                    between_groups);
    add_in_group(gateway(to_group, from_group, to), switch_of(to));
  }
  links.push_back((to * 2 + 1) * 3 + of_node);
}

bool Network::is_node_link(std::int64_t link) const {
  if (kind_ == Kind::switches) return link % 4 < 2;
  return kind_ == Kind::dragonfly && link % 3 == of_node;
}

std::string Network::name_of(std::int64_t link) const {
  if (kind_ == Kind::switches) {
    const char* direction = link % 2 == 0 ? "up" : "down";
    const std::int64_t index = link / 4;
    if (is_node_link(link)) return fmt::format("node {} {}", index, direction);
    return fmt::format("switch {} {} {}", index / above_, direction, index % above_);
  }
  if (kind_ == Kind::dragonfly) {
    const std::int64_t index = link / 3;
    if (is_node_link(link)) {
      return fmt::format("node {} {}", index / 2, index % 2 == 0 ? "up" : "down");
    }
    if (link % 3 == in_group) {
      const std::int64_t from = index / switches_per_group_;
      const std::int64_t first = from / switches_per_group_ * switches_per_group_;
      return fmt::format("switch {} to {}", from, first + index % switches_per_group_);
    }
    const std::int64_t pair = index / links_between_groups();
    return fmt::format("group {} to {} link {}", pair / groups_, pair % groups_,
                       index % links_between_groups());
  }
  const auto dimensions = static_cast<std::int64_t>(extents_.size());
  return fmt::format("place {} dimension {} {}", link / 2 / dimensions, link / 2 % dimensions,
                     link % 2 == 0 ? "ascending" : "descending");
}

void Network::route(std::int64_t from, std::int64_t to, std::vector<std::int64_t>& links) const {
  if (kind_ == Kind::switches) {
    route_in_tree(from, to, links);
    return;
  }
  if (kind_ == Kind::dragonfly) {
    route_in_dragonfly(from, to, links);
    return;
  }
  // Each place has two links along each dimension.
  const auto dimensions = static_cast<std::int64_t>(extents_.size());
  std::int64_t place = place_of(from);
  for (std::size_t d = 0; d < extents_.size(); ++d) {
    std::int64_t at = coordinate(from, d);
    const std::int64_t steps = this->steps(at, coordinate(to, d), d);
    for (std::int64_t step = 0; step < std::abs(steps); ++step) {
      links.push_back((place * dimensions + static_cast<std::int64_t>(d)) * 2 +
                      (steps < 0 ? 1 : 0));
      const std::int64_t next = (at + (steps < 0 ? extents_[d] - 1 : 1)) % extents_[d];
      place += (next - at) * strides_[d];
      at = next;
    }
  }
}

void add_route(const Topology& topology, std::int64_t from, std::int64_t to,
               std::vector<std::int64_t>& links) {
  if (topology.network() != nullptr) {
    topology.network()->route(from, to, links);
  } else if (from != to) {
    links.push_back(to);
  }
}

WeightedHops::WeightedHops(const Topology& topology) : network_(topology.network()) {
  if (!by_coordinates()) return;
  for (const std::int64_t extent : network_->extents()) {
    along_.emplace_back(static_cast<std::size_t>(extent));
  }
}

bool WeightedHops::by_coordinates() const {
  return network_ != nullptr && !network_->extents().empty();
}

void WeightedHops::add(std::int64_t node, double weight) {
  weight_ += weight;
  if (!by_coordinates()) {
    at_node_[node] += weight;
    if (network_ == nullptr) return;
    at_switch_[network_->switch_of(node)] += weight;
    if (network_->kind() == Network::Kind::dragonfly) {
      at_group_[network_->group_of(network_->switch_of(node))] += weight;
    }
    return;
  }
  for (std::size_t d = 0; d < along_.size(); ++d) {
    along_[d][static_cast<std::size_t>(network_->coordinate(node, d))] += weight;
  }
}

void WeightedHops::finish() {
  for (std::vector<double>& values : along_) {
    if (network_->kind() == Network::Kind::torus) {
      sum_along_ring(values);
    } else {
      sum_along_line(values);
    }
  }
}

// A way within a switch has 2 links, one within a group 3, and one between groups 3 to 5.
double WeightedHops::to_in_dragonfly(std::int64_t node) const {
  const std::int64_t at = network_->switch_of(node);
  const std::int64_t group = network_->group_of(at);
  double sum = -weight_at(at_switch_, at) - 2 * weight_at(at_node_, node);
  for (const auto& [other, weight] : at_group_) {
    if (other == group) {
      sum += 3 * weight;
      continue;
    }
    const bool ends_here = network_->gateway(group, other, node) == at;
    sum += (ends_here ? 4 : 5) * weight;
    sum -= weight_at(at_switch_, network_->gateway(other, group, node));
  }
  return sum;
}

double WeightedHops::to(std::int64_t node) const {
  if (!by_coordinates()) {
    const double here = weight_at(at_node_, node);
    if (network_ == nullptr) return weight_ - here;
    if (network_->kind() == Network::Kind::dragonfly) return to_in_dragonfly(node);
    return 4 * weight_ - 2 * weight_at(at_switch_, network_->switch_of(node)) - 2 * here;
  }
  double sum = 0;
  for (std::size_t d = 0; d < along_.size(); ++d) {
    sum += along_[d][static_cast<std::size_t>(network_->coordinate(node, d))];
  }
  return sum;
}

}  // namespace weir::topology
