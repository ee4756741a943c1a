// The network between the nodes of a job: how many links a message passes, and which ones. Nothing
// is stored per node, unless a list gives the nodes' coordinates.
//
//     text                       network
//     "8x8x16", "torus:8x8x16"   a torus: each dimension is a ring of nodes
//     "mesh:8x8x16"              a torus without the links from the ends of a dimension to each
//                                other
//     "torus:4x4@0.0,0.1,2.3"    the same, with the coordinates of node 0, of node 1 and so on
//     "switches:16"              a tree: 16 consecutive nodes on each switch, and one switch above
//     "fat-tree:16x8"            a tree: 16 consecutive nodes on each switch, and 8 switches above,
//                                to each of which every switch has a link
//     "dragonfly:4x8x2x9"        4 consecutive nodes on each switch; 8 switches in each group, with
//                                links to each other; 2 links of each switch to other groups; 9
//                                groups, with as many links from each to each as there are
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
  enum class Kind : std::uint8_t { torus, mesh, switches, dragonfly };
  static constexpr std::size_t most_dimensions = 6;
  static constexpr std::int64_t longest_dimension = 65536;
  static constexpr std::int64_t most_places = INT32_MAX;
  static constexpr std::int64_t most_listed_nodes = 1 << 20;

  // Fails if the text has none of the forms above. The error does not repeat the text.
  static Result<Network> parse(std::string_view text);
  // Returns the shortest text that parse() takes for this network.
  [[nodiscard]] std::string text() const;

  [[nodiscard]] Kind kind() const { return kind_; }
  // The number of places along each dimension of a torus or mesh; otherwise empty.
  [[nodiscard]] const std::vector<std::int64_t>& extents() const { return extents_; }
  // Fails if the network does not tell the place of each of so many nodes.
  [[nodiscard]] Status check_nodes(std::int64_t nodes) const;
  // Returns the coordinate of a node along a dimension of a torus or mesh.
  [[nodiscard]] std::int64_t coordinate(std::int64_t node, std::size_t dimension) const;
  // Returns the switch of a node; in a torus or mesh every node is one by itself.
  [[nodiscard]] std::int64_t switch_of(std::int64_t node) const { return node / per_switch_; }
  [[nodiscard]] std::int64_t first_node_on(std::int64_t at_switch) const {
    return at_switch * per_switch_;
  }
  // Returns the group of a switch of a dragonfly.
  [[nodiscard]] std::int64_t group_of(std::int64_t at_switch) const {
    return at_switch / switches_per_group_;
  }
  // Returns by which switch of a dragonfly's group `from` messages leave it for a node of group
  // `to`. The same switch receives what comes from there to a node with the same link.
  [[nodiscard]] std::int64_t gateway(std::int64_t from, std::int64_t to, std::int64_t node) const;

  // Returns the number of links from node to node: the length of route().
  [[nodiscard]] std::int64_t hops(std::int64_t from, std::int64_t to) const;
  // Adds the links that a message passes to `links`. In a torus or mesh it takes the dimensions in
  // order, and the shorter way around each ring; of two equal ways, that of ascending coordinates.
  // Where several links join two switches or groups, a route takes the link whose number is the
  // receiving node's number modulo their count. Links have directions, and numbers without a
  // meaning of their own.
  void route(std::int64_t from, std::int64_t to, std::vector<std::int64_t>& links) const;
  // Returns whether a link of a route is that of a node to or from its switch. Nodes of a torus or
  // mesh have no switch.
  [[nodiscard]] bool is_node_link(std::int64_t link) const;
  // Returns what people call a link of a route, such as "switch 3 up 2".
  [[nodiscard]] std::string name_of(std::int64_t link) const;

  friend bool operator==(const Network& a, const Network& b);

 private:
  Network() = default;
  Status read_switches(std::string_view text);
  Status read_fat_tree(std::string_view text);
  Status read_dragonfly(std::string_view text);
  Status read_extents(std::string_view text);
  Status read_coordinates(std::string_view text);
  [[nodiscard]] std::int64_t place_of(std::int64_t node) const;
  [[nodiscard]] std::int64_t places() const;
  // Returns the steps from one coordinate to another: negative where coordinates descend.
  [[nodiscard]] std::int64_t steps(std::int64_t from, std::int64_t to, std::size_t dimension) const;
  // Returns the number of links from each group of a dragonfly to each other one.
  [[nodiscard]] std::int64_t links_between_groups() const;
  void route_in_tree(std::int64_t from, std::int64_t to, std::vector<std::int64_t>& links) const;
  void route_in_dragonfly(std::int64_t from, std::int64_t to,
                          std::vector<std::int64_t>& links) const;

  Kind kind_ = Kind::torus;
  std::vector<std::int64_t> extents_;
  std::vector<std::int64_t> strides_;    // of places, by dimension
  std::int64_t per_switch_ = 1;          // nodes
  std::int64_t above_ = 1;               // switches above those of a tree
  std::int64_t switches_per_group_ = 1;  // of a dragonfly
  std::int64_t links_per_switch_ = 1;    // to other groups
  std::int64_t groups_ = 1;
  // The place of each node. Copies share it; null: node k is at place k.
  std::shared_ptr<const std::vector<std::int64_t>> listed_;
};

// Adds the links between two nodes of a topology. Without a network, the only link is the one into
// the node that receives.
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
  [[nodiscard]] double to_in_dragonfly(std::int64_t node) const;

  const Network* network_;
  double weight_ = 0;
  // By dimension and coordinate: first the weight there, then the sum of weight × hops to it.
  std::vector<std::vector<double>> along_;
  std::map<std::int64_t, double> at_node_;
  std::map<std::int64_t, double> at_switch_;
  std::map<std::int64_t, double> at_group_;  // of a dragonfly
};

}  // namespace weir::topology
