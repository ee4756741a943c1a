#include "topology/stager_placement.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "topology/whole_number.hpp"

namespace weir::topology {
namespace {

using Where = StagerPlacement::Where;

constexpr std::array<std::pair<std::string_view, Where>, 3> placement_names = {
    {{"none", Where::none}, {"node", Where::node}, {"ranks", Where::ranks}}};
constexpr std::string_view one_in_so_many = "1/";

constexpr const char* placement_forms =
    "give none, node, ranks (the last rank of each node), ranks:2 (the last 2 of each node), "
    "ranks:1/8 (one in 8 of each node) or service:FILE (those that `weir stage start --rendezvous "
    "FILE` has started)";
constexpr std::string_view service_form = "service:";

}  // namespace

Result<StagerPlacement> StagerPlacement::parse(std::string_view text) {
  StagerPlacement made;
  for (const auto& [name, where] : placement_names) {
    if (text != name) continue;
    made.where_ = where;
    return made;
  }
  if (text.starts_with(service_form) && text.size() > service_form.size()) {
    made.where_ = Where::service;
    made.rendezvous_ = text.substr(service_form.size());
    return made;
  }
  constexpr std::string_view begin = "ranks:";
  if (!text.starts_with(begin)) return invalid_argument(placement_forms);
  text.remove_prefix(begin.size());
  made.where_ = Where::ranks;
  const bool is_share = text.starts_with(one_in_so_many);
  if (is_share) text.remove_prefix(one_in_so_many.size());
  const auto number = whole_number(text, is_share ? 2 : 1, most_ranks);
  if (!number) return invalid_argument(placement_forms);
  (is_share ? made.one_in_ : made.count_) = *number;
  return made;
}

std::string StagerPlacement::text() const {
  if (one_in_ > 0) return fmt::format("ranks:{}{}", one_in_so_many, one_in_);
  if (count_ > 1) return fmt::format("ranks:{}", count_);
  if (where_ == Where::service) return std::string(service_form) + rendezvous_;
  return std::string(placement_names.at(static_cast<std::size_t>(where_)).first);
}

std::int64_t StagerPlacement::stagers_of(std::int64_t ranks) const {
  return one_in_ > 0 ? ranks / one_in_ : count_;
}

Status StagerPlacement::check(std::int64_t ranks) const {
  const std::string taken = one_in_ > 0   ? fmt::format("one in {} ranks", one_in_)
                            : count_ == 1 ? std::string("1 rank")
                                          : fmt::format("{} ranks", count_);
  if (stagers_of(ranks) > 0 && 2 * stagers_of(ranks) <= ranks) return {};
  return invalid_argument(
      fmt::format("staging '{}' makes {} of each node stagers, and this node has {}: each stager "
                  "needs another rank of its node, so start more ranks on each node or give fewer "
                  "stagers",
                  text(), taken, ranks));
}

StagerPlacement::Role StagerPlacement::role(std::int64_t place, std::int64_t ranks) const {
  const std::int64_t stagers = stagers_of(ranks);
  if (one_in_ > 0) {
    // Stager s is the last of the ranks from s * ranks / stagers on.
    const std::int64_t number = ((place + 1) * stagers - 1) / ranks;
    const std::int64_t stager = (number + 1) * ranks / stagers - 1;
    return {.is_stager = place == stager, .stager = stager};
  }
  const std::int64_t others = ranks - stagers;
  if (place >= others) return {.is_stager = true, .stager = place};
  return {.is_stager = false, .stager = others + place * stagers / others};
}

}  // namespace weir::topology
