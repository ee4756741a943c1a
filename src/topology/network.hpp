// The network between the nodes of a job: how many links a message passes, and which ones. Nothing
// is stored per node, unless a list gives the nodes' coordinates.
//
//     text                       network
//     "8x8x16", "torus:8x8x16"   a torus: each dimension is a ring of nodes
//     "mesh:8x8x16"              a torus without the links from the ends of a dimension to each
//                                other
//     "torus:4x4@0.0,0.1,2.3"    the same, with the coordinates of node 0, of node 1 and so on
//     "switches:16"              a tree: 16 consecutive nodes on each switch, and one switch above
//
// Without a list, the coordinates of the nodes are in row-major order: the last coordinate differs
// between neighbouring numbers. Nodes are numbered from 0 in the order of their first ranks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.hpp"

namespace weir::topology {

class Topology;

class Network {
 public:
  enum class Kind : std::uint8_t { torus, mesh, switches };
  static constexpr std::size_t most_dimensions = 6;
  static constexpr std::int64_t longest_dimension = 65536;
  static constexpr std::int64_t most_places = INT32_MAX;
  static constexpr std::int64_t most_listed_nodes = 1 << 20;

  // Fails if the text has none of the forms above. The error does not repeat the text.
  static Result<Network> parse(std::string_view text);
  // Returns the shortest text that parse() takes for this network.
  [[nodiscard]] std::string text() const;

  [[nodiscard]] Kind kind() const { return kind_; }
  // The number of places along each dimension of a torus or mesh; empty for switches.
  [[nodiscard]] const std::vector<std::int64_t>& extents() const { return extents_; }
  // Fails if the network does not tell the place of each of so many nodes.
  [[nodiscard]] Status check_nodes(std::int64_t nodes) const;
  // Returns the coordinate of a node along a dimension of a torus or mesh.
  [[nodiscard]] std::int64_t coordinate(std::int64_t node, std::size_t dimension) const;
  // Returns the switch of a node.
  [[nodiscard]] std::int64_t switch_of(std::int64_t node) const { return node / per_switch_; }

  // Returns the number of links from node to node: the length of route().
  [[nodiscard]] std::int64_t hops(std::int64_t from, std::int64_t to) const;
  // Adds the links that a message passes to `links`. In a torus or mesh it takes the dimensions in
  // order, and the shorter way around each ring; of two equal ways, that of ascending coordinates.
  // Links have directions, and numbers without a meaning of their own.
  void route(std::int64_t from, std::int64_t to, std::vector<std::int64_t>& links) const;

  friend bool operator==(const Network& a, const Network& b);

 private:
  Network() = default;
  Status read_extents(std::string_view text);
  Status read_coordinates(std::string_view text);
  [[nodiscard]] std::int64_t place_of(std::int64_t node) const;
  [[nodiscard]] std::int64_t places() const;
  // Returns the steps from one coordinate to another: negative where coordinates descend.
  [[nodiscard]] std::int64_t steps(std::int64_t from, std::int64_t to, std::size_t dimension) const;

  Kind kind_ = Kind::torus;
  std::vector<std::int64_t> extents_;
  std::vector<std::int64_t> strides_;  // of places, by dimension
  std::int64_t per_switch_ = 1;
  // The place of each node. Copies share it; null: node k is at place k.
  std::shared_ptr<const std::vector<std::int64_t>> listed_;
};

// Return the number of links between two nodes of a topology, and add these links. Without a
// network, the only link is the one into the node that receives.
[[nodiscard]] std::int64_t hops_between(const Topology& topology, std::int64_t from,
                                        std::int64_t to);
void add_route(const Topology& topology, std::int64_t from, std::int64_t to,
               std::vector<std::int64_t>& links);

// The hops from a set of nodes, each with a weight such as its bytes, to any node. Its tables
// are as long as the dimensions and the set.
class WeightedHops {
 public:
  // `topology` must outlive the object.
  explicit WeightedHops(const Topology& topology);
  void add(std::int64_t node, double weight);
  // To be called after the last add().
  void finish();
  [[nodiscard]] double weight() const { return weight_; }
  // Returns the sum of weight × hops from the added nodes to `node`.
  [[nodiscard]] double to(std::int64_t node) const;

 private:
  [[nodiscard]] bool by_coordinates() const;

  const Network* network_;
  double weight_ = 0;
  // By dimension and coordinate: first the weight there, then the sum of weight × hops to it.
  std::vector<std::vector<double>> along_;
  std::map<std::int64_t, double> at_node_;
  std::map<std::int64_t, double> at_switch_;
};

}  // namespace weir::topology
