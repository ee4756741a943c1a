#include "workloads/flash/tree.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "measurement/payload_words.hpp"

namespace weir::bench::flash {
namespace {

// The blocks of 2^22 that are refined near the shell reach about level 11; a key has room for 15.
constexpr double shell_radius = 0.25;
constexpr int coordinate_bits = 20;

std::uint64_t key_of(std::int32_t level, const std::array<std::int32_t, 3>& place) {
  auto key = static_cast<std::uint64_t>(level);
  for (const std::int32_t along : place) {
    key = key << coordinate_bits | static_cast<std::uint64_t>(along);
  }
  return key;
}

std::int64_t refinements_for(std::int64_t blocks) { return (blocks - 1) / children_of_block; }

}  // namespace

std::int32_t Tree::roots_of(std::int64_t blocks) {
  return static_cast<std::int32_t>(blocks - refinements_for(blocks) * children_of_block);
}

Tree::Tree(std::int64_t blocks) : roots_(roots_of(blocks)) {
  nodes_.reserve(static_cast<std::size_t>(blocks));
  places_.reserve(static_cast<std::size_t>(blocks));
  for (std::int32_t x = 0; x < roots_; ++x) add(1, {x, 0, 0}, -1);
  // The most urgent leaf is on top; of equally urgent ones the one that was made first.
  std::priority_queue<std::pair<double, std::int32_t>> leaves;
  std::size_t known = 0;
  for (std::int64_t left = refinements_for(blocks); left > 0;) {
    for (; known < nodes_.size(); ++known) {
      leaves.emplace(urgency(nodes_[known]), -static_cast<std::int32_t>(known));
    }
    const std::int32_t leaf = -leaves.top().second;
    leaves.pop();
    // A neighbour's refinement may have refined this block already.
    if (nodes_[static_cast<std::size_t>(leaf)].first_child < 0) left = refine(leaf, left);
  }
  number();
}

void Tree::add(std::int32_t level, const Place& place, std::int32_t parent) {
  places_.emplace(key_of(level, place), static_cast<std::int32_t>(nodes_.size()));
  nodes_.push_back({.level = level, .place = place, .parent = parent});
}

void Tree::split(std::int32_t node) {
  nodes_[static_cast<std::size_t>(node)].first_child = static_cast<std::int32_t>(nodes_.size());
  const Node parent = nodes_[static_cast<std::size_t>(node)];
  const auto [x, y, z] = parent.place;
  for (int child = 0; child < children_of_block; ++child) {
    add(parent.level + 1, {2 * x + child % 2, 2 * y + child / 2 % 2, 2 * z + child / 4}, node);
  }
}

std::int64_t Tree::refine(std::int32_t leaf, std::int64_t budget) {
  std::vector<std::int32_t> waiting = {leaf};
  while (!waiting.empty() && budget > 0) {
    const std::int32_t coarse = coarse_neighbour(nodes_[static_cast<std::size_t>(waiting.back())]);
    if (coarse >= 0) {
      waiting.push_back(coarse);
      continue;
    }
    split(waiting.back());
    waiting.pop_back();
    --budget;
  }
  return budget;
}

// Levels of neighbours differ by at most one. Therefore, where a neighbour does not exist on the
// block's own level, the block that would be its parent exists.
std::int32_t Tree::coarse_neighbour(const Node& node) const {
  constexpr int beside = 27;  // the block itself is one of them
  for (int number = 0; number < beside; ++number) {
    const Place place = {node.place[0] + number % 3 - 1, node.place[1] + number / 3 % 3 - 1,
                         node.place[2] + number / 9 - 1};
    if (!is_inside(node.level, place) || at(node.level, place) >= 0) continue;
    return at(node.level - 1, {place[0] / 2, place[1] / 2, place[2] / 2});
  }
  return -1;
}

bool Tree::is_inside(std::int32_t level, const Place& place) const {
  const std::int32_t across = 1 << (level - 1);
  return std::ranges::all_of(place, [](std::int32_t along) { return along >= 0; }) &&
         place[0] < roots_ * across && place[1] < across && place[2] < across;
}

std::int32_t Tree::at(std::int32_t level, const Place& place) const {
  const auto found = places_.find(key_of(level, place));
  return found == places_.end() ? -1 : found->second;
}

// A large block near the shell is the most urgent. Of the blocks on the shell it is the largest.
double Tree::urgency(const Node& node) const {
  const double size = std::ldexp(1.0, 1 - node.level);
  const double x = (node.place[0] + 0.5) * size - 0.5 * roots_;
  const double y = (node.place[1] + 0.5) * size - 0.5;
  const double z = (node.place[2] + 0.5) * size - 0.5;
  const double distance = std::abs(std::sqrt(x * x + y * y + z * z) - shell_radius);
  return size * size / (distance + size);
}

void Tree::number() {
  std::vector<std::int32_t> waiting;
  for (std::int32_t root = roots_; root-- > 0;) waiting.push_back(root);
  order_.reserve(nodes_.size());
  while (!waiting.empty()) {
    const std::int32_t node = waiting.back();
    waiting.pop_back();
    order_.push_back(node);
    Node& numbered = nodes_[static_cast<std::size_t>(node)];
    numbered.number = static_cast<std::int32_t>(order_.size());
    if (numbered.first_child < 0) continue;
    for (int child = children_of_block; child-- > 0;) {
      waiting.push_back(numbered.first_child + child);
    }
  }
}

std::vector<BlockRecord> Tree::records(std::int64_t first, std::int64_t count) const {
  std::vector<BlockRecord> all;
  all.reserve(static_cast<std::size_t>(count));
  for (std::int64_t block = first; block < first + count; ++block) {
    const std::int32_t node = order_[static_cast<std::size_t>(block)];
    all.push_back(record(nodes_[static_cast<std::size_t>(node)]));
  }
  return all;
}

BlockRecord Tree::record(const Node& node) const {
  const auto numbered = [&](std::int32_t other) {
    return other < 0 ? -1 : nodes_[static_cast<std::size_t>(other)].number;
  };
  BlockRecord made;
  made.level = node.level;
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const std::int32_t step : {-1, 1}) {
      Place beside = node.place;
      beside[axis] += step;
      made.relatives[next++] =
          is_inside(node.level, beside) ? numbered(at(node.level, beside)) : no_neighbour;
    }
  }
  made.relatives[next++] = numbered(node.parent);
  bool has_leaf = false;
  for (std::int32_t child = 0; child < children_of_block; ++child) {
    const std::int32_t other = node.first_child < 0 ? -1 : node.first_child + child;
    made.relatives[next++] = numbered(other);
    has_leaf |= other >= 0 && nodes_[static_cast<std::size_t>(other)].first_child < 0;
  }
  if (node.first_child >= 0) made.node_type = has_leaf ? 2 : 3;
  if (node.parent >= 0) {
    made.which_child = node.place[0] % 2 + 2 * (node.place[1] % 2) + 4 * (node.place[2] % 2) + 1;
  }
  const double size = std::ldexp(1.0, 1 - node.level);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    made.size[axis] = size;
    made.bounds[2 * axis] = node.place[axis] * size;
    made.bounds[2 * axis + 1] = (node.place[axis] + 1) * size;
    made.centre[axis] = (node.place[axis] + 0.5) * size;
  }
  return made;
}

std::int64_t Tree::memory_bytes(std::int64_t blocks) {
  // A node, its number, and its entries in the table of places and among the waiting leaves.
  constexpr std::int64_t elsewhere = 100;
  return blocks * (static_cast<std::int64_t>(sizeof(Node)) + elsewhere);
}

BlockDistribution::BlockDistribution(double average, std::int64_t ranks, std::uint64_t seed)
    : ranks_(ranks),
      blocks_(static_cast<std::int64_t>(std::llround(average * static_cast<double>(ranks)))) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> drawn;
  drawn.reserve(static_cast<std::size_t>(ranks));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    drawn.emplace_back(mix(mix(seed) + static_cast<std::uint64_t>(rank)), rank);
  }
  std::sort(drawn.begin(), drawn.end());
  const std::int64_t more = blocks_ % ranks_;
  for (std::int64_t i = 0; i < more; ++i) {
    richer_.push_back(drawn[static_cast<std::size_t>(i)].second);
  }
  std::sort(richer_.begin(), richer_.end());
}

BlockShare BlockDistribution::share(std::int64_t rank) const {
  const auto own = std::lower_bound(richer_.begin(), richer_.end(), rank);
  const bool is_richer = own != richer_.end() && *own == rank;
  return {rank * least() + (own - richer_.begin()), least() + (is_richer ? 1 : 0)};
}

std::int64_t BlockDistribution::rank_of(std::int64_t block) const {
  // A rank's first block is at least its number times the least.
  std::int64_t low = block / most();
  std::int64_t high = std::min(ranks_ - 1, block / least());
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (share(middle).first <= block) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace weir::bench::flash
