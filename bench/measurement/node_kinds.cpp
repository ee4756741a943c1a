#include "measurement/node_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "measurement/system_text.hpp"

namespace weir::bench {
namespace {

using nlohmann::json;

// Returns a part of a description, such as that of hardware; null if there is none.
json* part_of(json& description, const char* group, const char* name = nullptr) {
  const auto found = description.find(group);
  if (found == description.end() || !found->is_object()) return nullptr;
  if (name == nullptr) return &*found;
  const auto inner = found->find(name);
  return inner == found->end() ? nullptr : &*inner;
}

void erase(json& description, const char* group, const char* name) {
  if (json* part = part_of(description, group)) part->erase(name);
}

// Each client of a mount over NFS states its own address.
std::string without_client(const std::string& options) {
  constexpr std::string_view client = "clientaddr=";
  std::string kept;
  for (std::size_t begin = 0; begin <= options.size();) {
    const std::size_t end = std::min(options.find(',', begin), options.size());
    const std::string_view one = std::string_view(options).substr(begin, end - begin);
    if (!one.starts_with(client)) kept.append(kept.empty() ? "" : ",").append(one);
    begin = end + 1;
  }
  return kept;
}

// Removes what says nothing about the kind of node.
void make_comparable(json& description) {
  erase(description, "hardware", "described_host");
  erase(description, "system_software", "scheduler");
  for (const char* const name : {"directory", "available_bytes", "total_bytes", "layout"}) {
    erase(description, "file_system", name);
  }
  json* const options = part_of(description, "file_system", "options");
  if (options != nullptr && options->is_string()) {
    *options = without_client(options->get<std::string>());
  }
}

void compare_memory(json& first, json& mine) {
  json* const one = part_of(first, "hardware", "memory");
  json* const other = part_of(mine, "hardware", "memory");
  if (one == nullptr || other == nullptr || !one->is_object() || !other->is_object()) return;
  const json bytes = one->value("bytes", json());
  const json own = other->value("bytes", json());
  if (!bytes.is_number_integer() || !own.is_number_integer()) return;
  const auto known = bytes.get<std::int64_t>();
  const auto found = own.get<std::int64_t>();
  if (std::abs(found - known) <= known / 64) {
    (*other)["bytes"] = known;
  } else if (found > 0) {
    const auto size = static_cast<std::uint64_t>(found);
    const std::uint64_t unit = std::max<std::uint64_t>(std::bit_floor(size) / 64, 1);
    (*other)["bytes"] = (size + unit / 2) / unit * unit;
  }
}

// Leaves out what only one of the processes has loaded.
void compare_common(json& first, json& mine, const char* loaded) {
  json* const one = part_of(first, "system_software", loaded);
  json* const other = part_of(mine, "system_software", loaded);
  if (one == nullptr || other == nullptr || !one->is_object() || !other->is_object()) return;
  json common = json::object();
  for (const auto& [name, version] : other->items()) {
    if (one->contains(name)) common[name] = version;
  }
  *other = std::move(common);
  for (const auto& [name, version] : one->items()) {
    if (!other->contains(name)) (*other)[name] = version;
  }
}

json patch_of(const json& first, const json& mine) {
  json patch = json::object();
  for (const auto& [name, value] : mine.items()) {
    const auto known = first.find(name);
    if (known != first.end() && known->is_object() && value.is_object()) {
      if (json inner = patch_of(*known, value); !inner.empty()) patch[name] = std::move(inner);
    } else if (known == first.end() || *known != value) {
      patch[name] = value;
    }
  }
  for (const auto& [name, value] : first.items()) {
    if (!mine.contains(name)) patch[name] = nullptr;
  }
  return patch;
}

// Takes the longest entries out of a difference that is too long, and returns their names.
json take_longest_out(json& difference) {
  json names = json::array();
  while (json_text(difference).size() > longest_node_difference) {
    std::string of_group;
    std::string of_entry;
    std::size_t longest = 0;
    for (const auto& [group, entries] : difference.items()) {
      if (!entries.is_object()) continue;
      for (const auto& [name, value] : entries.items()) {
        const std::size_t size = json_text(value).size();
        if (size <= longest) continue;
        longest = size;
        of_group = group;
        of_entry = name;
      }
    }
    if (longest == 0) break;
    names.push_back(fmt::format("{}.{}", of_group, of_entry));
    difference[of_group].erase(of_entry);
    if (difference[of_group].empty()) difference.erase(of_group);
  }
  return names;
}

}  // namespace

json node_difference(const json& first, json mine) {
  json other = first;
  make_comparable(other);
  make_comparable(mine);
  compare_memory(other, mine);
  compare_common(other, mine, "libraries");
  compare_common(other, mine, "mpi_parameters");
  return patch_of(other, mine);
}

std::int64_t NodeKinds::Kind::placed() const {
  std::int64_t sum = 0;
  for (const auto& [first, last] : places) sum += last - first + 1;
  return sum;
}

void NodeKinds::Kind::add(const Kind& later) {
  const bool complete = placed() == nodes;
  nodes += later.nodes;
  if (!complete) return;  // the places that are kept are the first ones
  for (const auto& range : later.places) {
    if (!places.empty() && places.back()[1] + 1 == range[0]) {
      places.back()[1] = range[1];
    } else if (places.size() < most_node_ranges) {
      places.push_back(range);
    } else {
      return;
    }
  }
}

NodeKinds NodeKinds::of_node(std::int64_t place, json difference) {
  NodeKinds kinds;
  kinds.described_ = 1;
  if (difference.empty()) {
    kinds.alike_ = 1;
    return kinds;
  }
  json left_out = take_longest_out(difference);
  const json known = {{"differences", std::move(difference)}, {"left_out", std::move(left_out)}};
  kinds.kinds_[json_text(known)] = {.nodes = 1, .places = {{place, place}}};
  return kinds;
}

void NodeKinds::add(const NodeKinds& later) {
  described_ += later.described_;
  alike_ += later.alike_;
  unlisted_ += later.unlisted_;
  for (const auto& [text, kind] : later.kinds_) kinds_[text].add(kind);
  while (kinds_.size() > most_node_kinds) drop_smallest();
}

void NodeKinds::drop_smallest() {
  const auto smallest =
      std::min_element(kinds_.begin(), kinds_.end(), [](const auto& one, const auto& other) {
        if (one.second.nodes != other.second.nodes) return one.second.nodes < other.second.nodes;
        return one.second.places.front() > other.second.places.front();
      });
  unlisted_ += smallest->second.nodes;
  kinds_.erase(smallest);
}

json NodeKinds::record() const {
  std::vector<const std::pair<const std::string, Kind>*> sorted;
  sorted.reserve(kinds_.size());
  for (const auto& one : kinds_) sorted.push_back(&one);
  std::sort(sorted.begin(), sorted.end(), [](const auto* one, const auto* other) {
    return one->second.places.front() < other->second.places.front();
  });
  json kinds = json::array();
  for (const auto* one : sorted) {
    json kind = {{"nodes", one->second.nodes}, {"places", one->second.places}};
    kind.update(json::parse(one->first));
    kinds.push_back(std::move(kind));
  }
  return {{"described", described_},
          {"alike", alike_},
          {"kinds", std::move(kinds)},
          {"unlisted", unlisted_}};
}

NodeKinds NodeKinds::from_record(const json& record) {
  NodeKinds kinds;
  kinds.described_ = record.at("described").get<std::int64_t>();
  kinds.alike_ = record.at("alike").get<std::int64_t>();
  kinds.unlisted_ = record.at("unlisted").get<std::int64_t>();
  for (const json& one : record.at("kinds")) {
    const json known = {{"differences", one.at("differences")}, {"left_out", one.at("left_out")}};
    Kind& kind = kinds.kinds_[json_text(known)];
    kind.nodes = one.at("nodes").get<std::int64_t>();
    kind.places = one.at("places").get<std::vector<std::array<std::int64_t, 2>>>();
  }
  return kinds;
}

}  // namespace weir::bench
