// Where a node is in the network, by what the system tells a process there (Slurm, Lustre's LNet or
// the node's name on a Cray), by a record of its InfiniBand fabric, or by a description that names
// the hosts of each group. The nodes that share a switch, routers, a chassis or a described group
// become an I/O group. Nodes are compared by numbers made of the texts, so that each node tells the
// others the same few bytes. python/weir/platform/discovery reads the same texts, and more, for
// people.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "topology/io_groups.hpp"

namespace weir::topology {

struct NodePlace {
  std::uint64_t node = 0;    // made of the node's own name; 0: the place is not known
  std::uint64_t shared = 0;  // made of the name of what its group shares

  friend bool operator==(const NodePlace&, const NodePlace&) = default;
};

// The sources are asked in this order: a description is somebody's decision, routers to the
// storage are what I/O groups are about, and a name says least about cables.
enum class PlaceSource : std::uint8_t { description, lnet, infiniband, slurm, cray };
inline constexpr std::array<PlaceSource, 5> place_sources{
    PlaceSource::description, PlaceSource::lnet, PlaceSource::infiniband, PlaceSource::slurm,
    PlaceSource::cray};

// Has what each source says, by its number.
using NodePlaces = std::array<NodePlace, place_sources.size()>;

// Returns the word for it in an option, such as "slurm".
[[nodiscard]] std::string_view word_of(PlaceSource source);
// Returns the source with this word, or nothing.
[[nodiscard]] std::optional<PlaceSource> source_named(std::string_view word);
// Returns what it reads, for people, such as "SLURM_TOPOLOGY_ADDR of each node".
[[nodiscard]] std::string_view text_of(PlaceSource source);

// Returns the place of a node with this name in what its group shares.
[[nodiscard]] NodePlace place_named(std::string_view node, std::string_view shared);

// Returns the place below the switches, or in the block, that Slurm tells each task:
//
//     SLURM_TOPOLOGY_ADDR=root.s2.s0.tux0
//     SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.switch.node
//
// It is not known if the address does not have the pattern's parts, or has no switch. Names of
// nodes may have dots, so the pattern says into how many parts the address is split.
[[nodiscard]] NodePlace place_by_slurm(std::string_view address, std::string_view pattern);

// Returns the place in the chassis that Cray's name of a node tells: "c1-0c2s15n3" (XT, XE, XC) or
// "x1000c0s5b1n0" (EX). It is not known from other names.
[[nodiscard]] NodePlace place_by_cray(std::string_view name);

// Returns the place behind the routers of Lustre that a node uses, by the text of
// /proc/sys/lnet/routes (lnet/router_proc.c):
//
//     Routing disabled
//     net      hops priority   state router
//     o2ib1       1        0      up 10.0.0.1@tcp
//
// Routers that are down are left out. The place is not known without a router, or if a line has
// another form.
[[nodiscard]] NodePlace place_by_lnet(std::string_view host, std::string_view routes);

// Returns the groups of nodes that share the same. Nothing if a node's place is not known, if two
// nodes have the same one (the launcher has passed one node's variables on to others), or if the
// groups would be all nodes or single ones.
[[nodiscard]] std::optional<IoGroups> groups_of_places(std::span<const NodePlace> nodes);

// Returns the groups of nodes that a description puts together, also if these are all nodes or
// single ones. Several nodes may be on one host. Nothing if a node's place is not known.
[[nodiscard]] std::optional<IoGroups> described_groups(std::span<const NodePlace> nodes);

struct FoundGroups {
  IoGroups groups;
  PlaceSource source{};
};

// Returns the groups of the first source that makes any. Sources that were not asked know no place.
[[nodiscard]] std::optional<FoundGroups> first_groups(std::span<const NodePlaces> nodes);

}  // namespace weir::topology
