#include "topology/infiniband_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "topology/whole_number.hpp"

namespace weir::topology {
namespace {

enum class FabricLine { other, adapter, adapter_port };

bool begins_with_word(std::string_view line, std::string_view word) {
  return line.starts_with(word) && line.size() > word.size() &&
         (line[word.size()] == ' ' || line[word.size()] == '\t');
}

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view spaces = " \t\r";
  const std::size_t begin = line.find_first_not_of(spaces);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(spaces) + 1 - begin);
}

// Calls a function with the number of each line, what it is and its text, as long as it succeeds.
Status each_line(std::string_view text,
                 const std::function<Status(std::int64_t, FabricLine, std::string_view)>& visit) {
  bool in_adapter = false;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    const std::string_view line = trimmed(whole);
    auto kind = FabricLine::other;
    if (begins_with_word(line, "Ca")) {
      in_adapter = true;
      kind = FabricLine::adapter;
    } else if (begins_with_word(line, "Switch") || begins_with_word(line, "Rt")) {
      in_adapter = false;
    } else if (in_adapter && line.starts_with('[')) {
      kind = FabricLine::adapter_port;
    }
    if (Status visited = visit(number, kind, line); !visited.ok()) return visited;
  }
  return {};
}

// Returns what is between the first two quotes, and removes it and all before it from the line.
// Nothing if there are none.
std::optional<std::string_view> take_quoted(std::string_view& line) {
  const std::size_t open = line.find('"');
  const std::size_t close = open == std::string_view::npos ? open : line.find('"', open + 1);
  if (close == std::string_view::npos) return std::nullopt;
  const std::string_view quoted = line.substr(open + 1, close - open - 1);
  line.remove_prefix(close + 1);
  return quoted;
}

// Returns whether this is the key of a part of one of these kinds, such as "H-0002c9030002f9d8".
bool is_key(std::optional<std::string_view> text, std::string_view kinds) {
  return text && text->size() > 2 && kinds.find(text->front()) != std::string_view::npos &&
         (*text)[1] == '-' &&
         text->find_first_not_of("0123456789abcdef", 2) == std::string_view::npos;
}

}  // namespace

Status InfinibandFabric::add_adapter(std::string_view line) {
  const auto key = take_quoted(line);
  const bool is_described = trimmed(line).starts_with('#');
  const auto description = take_quoted(line);
  if (!is_key(key, "H") || !is_described || !description) return invalid_argument("is no adapter");
  const std::string_view word = description->substr(0, description->find(' '));
  adapters_.push_back({std::string(*key), std::string(word.substr(0, word.find('.'))), {}, {}});
  return {};
}

Status InfinibandFabric::add_port(std::string_view line) {
  constexpr std::string_view before_lid = "# lid ";
  const auto other = take_quoted(line);
  const std::size_t at = line.find(before_lid);
  if (!is_key(other, "SHR") || at == std::string_view::npos) return invalid_argument("is no port");
  const std::string_view behind = line.substr(at + before_lid.size());
  const auto lid = whole_number(behind.substr(0, behind.find(' ')), 0,
                                std::numeric_limits<std::uint16_t>::max());
  if (!lid) return invalid_argument("is no port");
  adapters_.back().lids.push_back(*lid);
  if (other->front() == 'S') adapters_.back().switches.emplace_back(*other);
  return {};
}

Result<InfinibandFabric> InfinibandFabric::parse(std::string_view text) {
  if (text.size() > most_fabric_bytes) {
    return invalid_argument(
        fmt::format("is longer than the {} bytes that are read", most_fabric_bytes));
  }
  InfinibandFabric fabric;
  Status read =
      each_line(text, [&](std::int64_t number, FabricLine kind, std::string_view line) -> Status {
        Status taken;
        if (kind == FabricLine::adapter) taken = fabric.add_adapter(line);
        if (kind == FabricLine::adapter_port) taken = fabric.add_port(line);
        if (taken.ok()) return taken;
        return invalid_argument(
            fmt::format("line {} {}: the text may be cut, record ibnetdiscover again", number,
                        taken.error().message));
      });
  if (!read.ok()) return read.error();
  std::set<std::string_view> keys;
  bool has_switch = false;
  for (const Adapter& one : fabric.adapters_) {
    if (!keys.insert(one.key).second) {
      return invalid_argument(
          fmt::format("describes {} twice: record ibnetdiscover again", one.key));
    }
    has_switch = has_switch || !one.switches.empty();
  }
  if (!has_switch) {
    return invalid_argument(
        "has no adapter that is connected to a switch: give the output of ibnetdiscover");
  }
  return fabric;
}

std::string InfinibandFabric::adapters_in(std::string_view text) {
  std::string kept;
  static_cast<void>(each_line(
      text, [&](std::int64_t /*number*/, FabricLine kind, std::string_view line) -> Status {
        if (kind != FabricLine::other) kept.append(line).append(1, '\n');
        return {};
      }));
  return kept;
}

NodePlace InfinibandFabric::place_of(std::string_view host,
                                     std::span<const std::int64_t> lids) const {
  const std::string_view short_name = host.substr(0, host.find('.'));
  std::set<std::string_view> switches;
  for (const Adapter& one : adapters_) {
    const bool has_lid = std::find_first_of(one.lids.begin(), one.lids.end(), lids.begin(),
                                            lids.end()) != one.lids.end();
    if (has_lid || one.host == short_name)
      switches.insert(one.switches.begin(), one.switches.end());
  }
  if (switches.empty() || host.empty()) return {};
  std::string all;
  for (const std::string_view one : switches) all.append(one).append(1, '+');
  return place_named(host, all);
}

}  // namespace weir::topology
