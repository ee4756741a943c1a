#include "capi/io_groups_option.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/shared_file.hpp"
#include "common/settings.hpp"
#include "plan/platform_description.hpp"
#include "system/network_places.hpp"
#include "system/process_name.hpp"
#include "topology/infiniband_fabric.hpp"

namespace weir::capi {
namespace {

using topology::PlaceSource;

// Sets the place of this rank's host in the groups that a description names.
Outcome find_described_place(Ranks& ranks, SessionOptions& chosen) {
  const std::string& file = chosen.io_groups.file;
  // Only rank 0 makes a table of all hosts.
  const auto check = [&](std::string& text) -> Status {
    const auto groups = plan::parse_described_groups(text, file);
    if (!groups) return groups.error();
    const Status checked = groups.value().check_each_once();
    return checked.ok() ? checked : Status(with_file(checked.error(), file));
  };
  std::string text;
  if (auto shared = share_file(ranks, file, plan::most_description_bytes, "io_groups", text, check);
      !shared.ok()) {
    return shared;
  }
  Outcome found = outcome_without_throwing([&]() -> Outcome {
    const auto groups = plan::parse_described_groups(text, file);
    if (!groups) return outcome_of(groups.error(), "io_groups");
    const auto place = groups.value().place_of(storage::host_name());
    if (!place) return outcome_of(with_file(place.error(), file), "io_groups");
    topology::NodePlaces places{};
    places.at(static_cast<std::size_t>(PlaceSource::description)) = place.value();
    chosen.settings.node_places = places;
    chosen.settings.io_groups_origin = fmt::format("the hosts that {} names", file);
    return {};
  });
  return ranks.agree({.possible = status_of(found)});
}

// Sets the place of this rank's node in the recorded fabric, besides what the system tells of it.
Outcome find_place_in_fabric(Ranks& ranks, SessionOptions& chosen) {
  const std::string& file = chosen.io_groups.file;
  using topology::InfinibandFabric;
  const auto shorten = [&](std::string& text) -> Status {
    const auto fabric = InfinibandFabric::parse(text);
    if (!fabric) return with_file(fabric.error(), file);
    text = InfinibandFabric::adapters_in(text);
    return {};
  };
  std::string text;
  if (auto shared =
          share_file(ranks, file, InfinibandFabric::most_fabric_bytes, "io_groups", text, shorten);
      !shared.ok()) {
    return shared;
  }
  const auto fabric = InfinibandFabric::parse(text);
  if (!fabric) return outcome_of(with_file(fabric.error(), file), "io_groups");
  chosen.settings.node_places->at(static_cast<std::size_t>(PlaceSource::infiniband)) =
      fabric.value().place_of(storage::host_name(), storage::infiniband_lids());
  return {};
}

// Returns what "discover" asks, in words for people.
std::vector<std::string_view> asked_by_discover() {
  std::vector<std::string_view> all;
  for (const PlaceSource source : topology::place_sources) {
    if (source != PlaceSource::description) all.push_back(topology::text_of(source));
  }
  return all;
}

}  // namespace

Outcome choose_io_groups(Ranks& ranks, SessionOptions& chosen,
                         std::int64_t described_nodes_per_group) {
  aggregation::CollectiveSettings& settings = chosen.settings;
  const auto source = chosen.io_groups.one_source();
  if (source == PlaceSource::description) return find_described_place(ranks, chosen);
  if (!chosen.io_groups.source.empty()) {
    settings.io_groups_asked = source ? std::string(topology::text_of(*source))
                                      : fmt::format("{}", fmt::join(asked_by_discover(), ", "));
    settings.node_places =
        storage::network_places(source, process_environment, storage::host_name());
    if (!chosen.io_groups.file.empty()) return find_place_in_fabric(ranks, chosen);
  } else if (chosen.io_groups.groups) {
    settings.io_groups = *chosen.io_groups.groups;
    settings.io_groups_origin = "the option io_groups or WEIR_IO_GROUPS";
  } else if (described_nodes_per_group > 0) {
    settings.io_groups = topology::IoGroups(described_nodes_per_group);
    settings.io_groups_origin = "the platform's description";
  }
  return {};
}

}  // namespace weir::capi
