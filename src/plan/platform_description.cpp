#include "plan/platform_description.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "topology/io_groups.hpp"

namespace weir::plan {
namespace {

// Figures beyond these limits are mistakes, and sums of them might overflow.
constexpr double largest_figure = 1e18;
constexpr std::int64_t largest_block = std::int64_t{1} << 40;
// If a call on a file shared by several writers takes more than this fraction of a single writer's
// time, the file system serves them one at a time.
constexpr double gain_of_a_crowd = 0.7;

// Returns the text on one line, without control characters.
std::string printable(std::string_view given) {
  constexpr std::size_t longest_shown = 200;
  std::string text(given.substr(0, longest_shown));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

struct Stage {
  double rate = 0;      // of all units together, bytes per second
  double one_user = 0;  // rate of a single rank
  double call_seconds = 0;
};

class Reader {
 public:
  Reader(const toml::table& document, const std::string& source)
      : document_(document), source_(source) {}

  [[nodiscard]] Error error(const std::string& what) const {
    Error error = invalid_argument(what);
    error.file = source_;
    return error;
  }
  // Records an error; only the first one is kept.
  void refuse(const std::string& what) {
    if (status_.ok()) status_ = error(what);
  }
  [[nodiscard]] const Status& status() const { return status_; }

  // Returns a figure: a number, or the `value` of a table. Returns nothing if there is none;
  // otherwise the figure must be at least `least`.
  std::optional<double> figure(toml::node_view<const toml::node> node, const std::string& name,
                               double least) {
    if (!node) return std::nullopt;
    const auto value = node.is_table() ? node["value"] : node;
    const std::optional<double> number =
        value.is_number() ? value.value<double>() : std::optional<double>();
    if (!number) {
      refuse(fmt::format("{} is neither a number nor a table with a number as its value", name));
    } else if (!(*number >= least && *number <= largest_figure)) {
      refuse(fmt::format("{} is {:g}: give {:g} to {:g}", name, *number, least, largest_figure));
      return std::nullopt;
    }
    return number;
  }
  std::optional<std::int64_t> whole(toml::node_view<const toml::node> node, const std::string& name,
                                    std::int64_t least, std::int64_t most) {
    if (!node.is_integer()) return std::nullopt;  // a probe may report "unknown"
    const std::int64_t number = node.as_integer()->get();
    if (number >= least && number <= most) return number;
    refuse(fmt::format("{} is {}: give {} to {}", name, number, least, most));
    return std::nullopt;
  }

  // Returns the first stage of this kind on a route, or nothing if there is none.
  std::optional<Stage> stage(std::string_view kind, std::string_view direction,
                             std::string_view route) {
    const toml::array* const stages = document_["stages"].as_array();
    if (stages == nullptr) return std::nullopt;
    for (std::size_t i = 0; i < stages->size(); ++i) {
      const toml::node_view<const toml::node> one(stages->get(i));
      const auto goes = one["direction"].value<std::string_view>();
      if (one["kind"].value<std::string_view>() != kind || (goes && *goes != direction)) continue;
      const toml::array* const routes = one["routes"].as_array();
      const bool passes =
          routes != nullptr &&
          std::any_of(routes->begin(), routes->end(), [route](const toml::node& node) {
            return node.value<std::string_view>() == route;
          });
      if (passes) return read(one, fmt::format("stages[{}]", i), kind);
    }
    return std::nullopt;
  }
  std::optional<double> latency(const char* name) {
    return figure(document_["latencies_seconds"][name], fmt::format("latencies_seconds.{}", name),
                  0);
  }
  // Returns the described value, or the default, whose name is then recorded for the user.
  double either(std::optional<double> described, double estimated, const char* name) {
    if (described) return *described;
    estimated_.emplace_back(name);
    return estimated;
  }
  [[nodiscard]] std::string origin() const {
    const std::string name = printable(document_["name"].value_or(std::string("?")));
    const std::string measured = printable(document_["measured_utc"].value_or(std::string()));
    std::string text = fmt::format("platform {} ({}{})", name, source_,
                                   measured.empty() ? "" : ", measured " + measured);
    if (!estimated_.empty()) {
      text += fmt::format("; estimated: {}", fmt::join(estimated_, ", "));
    }
    return text;
  }

 private:
  std::optional<Stage> read(toml::node_view<const toml::node> one, const std::string& name,
                            std::string_view kind) {
    Stage stage;
    const auto rate = figure(one["rate_bytes_per_second"], name + ".rate_bytes_per_second", 1);
    if (!rate) {
      refuse(name + ".rate_bytes_per_second is missing");
      return std::nullopt;
    }
    const auto user =
        figure(one["one_user_bytes_per_second"], name + ".one_user_bytes_per_second", 1);
    stage.one_user = user.value_or(*rate);
    // Units that differ are separate directories, and a file is in only one of them.
    const toml::array* const own = one["different_units"].as_array();
    const bool side_by_side = kind == "target" && (own == nullptr || own->empty());
    const auto units = whole(one["units"], name + ".units", 1, std::int64_t{1} << 30);
    stage.rate = *rate * (side_by_side ? static_cast<double>(units.value_or(1)) : 1);
    stage.call_seconds = figure(one["fixed_seconds"], name + ".fixed_seconds", 0).value_or(0) +
                         figure(one["turn_seconds"], name + ".turn_seconds", 0).value_or(0);
    return stage;
  }

  const toml::table& document_;
  const std::string& source_;
  Status status_;
  std::vector<std::string> estimated_;
};

void read_memory(Reader& reader, const toml::table& document, PlatformRates& rates) {
  const auto copy = reader.stage("node", "", "memory");
  rates.core_copy_bytes_per_second =
      reader.either(copy ? std::optional(copy->one_user) : std::nullopt,
                    rates.core_copy_bytes_per_second, "memory copy");
  if (copy) rates.node_copy_bytes_per_second = copy->rate;
  rates.copy_run_seconds =
      reader.either(reader.latency("run_copy"), rates.copy_run_seconds, "copying short runs");
  const auto cores = reader.whole(document["topology"]["hardware"]["processor"]["cores"],
                                  "topology.hardware.processor.cores", 1, 1 << 20);
  if (cores) rates.cores_per_node = *cores;
}

void read_files(Reader& reader, PlatformRates& rates) {
  const auto written = reader.stage("node", "write", "cached");
  rates.write.core_bytes_per_second =
      reader.either(written ? std::optional(written->one_user) : std::nullopt,
                    rates.write.core_bytes_per_second, "page cache write");
  if (written) rates.write.node_bytes_per_second = written->rate;
  const auto shared = reader.latency("shared_write");
  const auto alone = reader.latency("shared_write_alone");
  if (shared && alone) rates.write.one_at_a_time = *shared > gain_of_a_crowd * *alone;
  std::optional<double> call = shared;
  if (!call && written && written->call_seconds > 0) call = written->call_seconds;
  rates.write.call_seconds = reader.either(call, rates.write.call_seconds, "write call");

  const auto read = reader.stage("node", "read", "cached");
  rates.read.core_bytes_per_second =
      reader.either(read ? std::optional(read->one_user) : std::nullopt,
                    rates.read.core_bytes_per_second, "page cache read");
  if (read) rates.read.node_bytes_per_second = read->rate;
  rates.read.call_seconds =
      reader.either(reader.latency("call"), rates.read.call_seconds, "read call");
}

void read_storage(Reader& reader, const toml::table& document, PlatformRates& rates) {
  const auto reach = document["targets"][0]["layout"]["reach"].value<std::string_view>();
  if (reach == "memory") return;
  if (const auto stage = reader.stage("target", "write", "durable")) {
    rates.write.storage_bytes_per_second = stage->rate;
  }
  if (const auto stage = reader.stage("target", "read", "dropped")) {
    rates.read.storage_bytes_per_second = stage->rate;
  }
  const auto direct = [&](const char* direction) {
    const auto stage = reader.stage("target", direction, "direct");
    return stage ? FileRates{stage->call_seconds, stage->one_user, stage->rate, false, stage->rate}
                 : FileRates{0, 0, 0, false, 0};
  };
  rates.direct_write = direct("write");
  rates.direct_read = direct("read");
  // Fraction of free memory that Linux lets programs write before writers wait.
  constexpr double dirty_share = 0.2;
  const auto memory =
      reader.figure(document["memory_available_bytes"], "memory_available_bytes", 0);
  rates.cached_bytes = dirty_share * memory.value_or(0);
}

// Returns the rate of the edge by which the simulation's links between switches are named, such as
// "leaf switch -> spine switch": its own, or that of its first stage. 0 if there is none.
double rate_between_switches(Reader& reader, const toml::table& document) {
  const auto name = document["simulation"]["network_links"].value<std::string_view>();
  const toml::array* const edges = document["edges"].as_array();
  if (!name || edges == nullptr) return 0;
  const auto rate_of = [&](toml::node_view<const toml::node> owner, const std::string& where) {
    return reader.figure(owner["rate_bytes_per_second"], where + ".rate_bytes_per_second", 1);
  };
  for (std::size_t i = 0; i < edges->size(); ++i) {
    const toml::node_view<const toml::node> edge(edges->get(i));
    const std::string from = edge["from"].value_or(std::string());
    if (from + " -> " + edge["to"].value_or(std::string()) != *name) continue;
    if (const auto own = rate_of(edge, fmt::format("edges[{}]", i))) return *own;
    const auto stage = edge["stages"][0].value<std::string_view>();
    const toml::array* const stages = document["stages"].as_array();
    for (std::size_t k = 0; stage && stages != nullptr && k < stages->size(); ++k) {
      const toml::node_view<const toml::node> one(stages->get(k));
      if (one["name"].value<std::string_view>() != stage) continue;
      return rate_of(one, fmt::format("stages[{}]", k)).value_or(0);
    }
  }
  return 0;
}

void read_network(Reader& reader, const toml::table& document, PlatformRates& rates) {
  const auto link = reader.stage("node link", "", "network");
  rates.link_bytes_per_second = reader.either(link ? std::optional(link->rate) : std::nullopt,
                                              rates.link_bytes_per_second, "node link");
  rates.message_seconds =
      reader.either(reader.latency("message"), rates.message_seconds, "message");
  rates.hop_bytes_per_second = rate_between_switches(reader, document);
}

// Reads the stripes of the first directory, and the size of locks on file systems that nodes share.
topology::FileTargets read_targets(Reader& reader, const toml::table& document) {
  topology::FileTargets targets;
  const auto layout = document["targets"][0]["layout"];
  const auto stripes = layout["layout"];
  targets.stripe_bytes =
      reader
          .whole(stripes["stripe_bytes"], "targets[0].layout.layout.stripe_bytes", 1, largest_block)
          .value_or(0);
  // -1 stands for all existing targets, whose number the description does not give.
  constexpr std::int64_t most_targets = 1 << 20;
  targets.count = std::max<std::int64_t>(
      1,
      reader
          .whole(stripes["stripe_count"], "targets[0].layout.layout.stripe_count", -1, most_targets)
          .value_or(1));
  if (layout["reach"].value<std::string_view>() == "network") {
    const auto block =
        reader.whole(layout["block_bytes"], "targets[0].layout.block_bytes", 1, largest_block);
    targets.lock_bytes = std::max(targets.stripe_bytes, block.value_or(0));
  }
  return targets;
}

// A user adds this figure, which no probe finds. A list of groups would fit only jobs on all nodes.
std::int64_t read_nodes_per_io_group(Reader& reader, const toml::table& document) {
  const toml::node_view<const toml::node> node = document["nodes_per_io_group"];
  if (node && !node.is_integer()) {
    reader.refuse("nodes_per_io_group is not a whole number: give the nodes of an I/O group");
  }
  return reader.whole(node, "nodes_per_io_group", 1, topology::IoGroups::most_grouped_nodes)
      .value_or(0);
}

// A user adds the shape of the network, too, or `weir platform discover` has found it.
std::optional<topology::Network> read_shape(Reader& reader, const toml::table& document) {
  const toml::node_view<const toml::node> node = document["network_shape"];
  if (!node) return std::nullopt;
  const auto text = node.value<std::string_view>();
  const auto parsed = topology::Network::parse(text.value_or(""));
  if (parsed) return parsed.value();
  reader.refuse(
      fmt::format("network_shape does not describe a network: {}", parsed.error().message));
  return std::nullopt;
}

Status check_format(const toml::table& document, const Reader& reader) {
  if (document["format"].value<std::string_view>() != "weir-platform") {
    return reader.error("is not a platform description: format is not \"weir-platform\"");
  }
  if (document["format_version"].value<std::int64_t>() != 1) {
    return reader.error(
        "has a format_version other than 1, which is the only one that this Weir reads");
  }
  return {};
}

Result<PlatformDescription> read_document(const toml::table& document, const std::string& source) {
  Reader reader(document, source);
  if (const Status known = check_format(document, reader); !known.ok()) return known.error();
  PlatformDescription description;
  read_memory(reader, document, description.rates);
  read_files(reader, description.rates);
  read_storage(reader, document, description.rates);
  read_network(reader, document, description.rates);
  description.targets = read_targets(reader, document);
  description.nodes_per_io_group = read_nodes_per_io_group(reader, document);
  description.network = read_shape(reader, document);
  if (!reader.status().ok()) return reader.status().error();
  description.rates.origin = reader.origin();
  return description;
}

Result<topology::HostGroups> read_groups(const toml::table& document, const std::string& source) {
  const Reader reader(document, source);
  if (const Status known = check_format(document, reader); !known.ok()) return known.error();
  const toml::table* const described = document["topology"]["network"]["groups"].as_table();
  if (described == nullptr || described->empty()) {
    return reader.error(
        "has no topology.network.groups, a table with the hosts of each group, such as leaf1 = "
        "\"n[1-4]\": weir platform discover --output writes it");
  }
  topology::HostGroups groups;
  for (const auto& [name, node] : *described) {
    const auto hosts = node.value<std::string_view>();
    const std::string shown = printable(name.str());
    if (shown != name.str()) {
      return reader.error(fmt::format(
          "topology.network.groups: the name of group '{}' is too long or has control characters",
          shown));
    }
    if (!hosts) {
      return reader.error(
          fmt::format("topology.network.groups: the hosts of group '{}' are not a "
                      "text, such as \"n[1-4],n7\"",
                      shown));
    }
    if (const Status added = groups.add(shown, *hosts); !added.ok()) {
      return reader.error("topology.network.groups: " + added.error().message);
    }
  }
  return groups;
}

template <typename Read>
auto parse_with(Read read, std::string_view text, const std::string& source)
    -> decltype(read(toml::table(), source)) {
  const toml::table nothing;
  if (text.size() > most_description_bytes) {
    return Reader(nothing, source).error("is too long for a platform description");
  }
  try {
    return read(toml::parse(text), source);
  } catch (const toml::parse_error& wrong) {
    return Reader(nothing, source)
        .error(fmt::format("line {} is not TOML: {}", wrong.source().begin.line,
                           printable(wrong.description())));
  }
}

}  // namespace

Result<PlatformDescription> parse_platform_description(std::string_view text,
                                                       const std::string& source) {
  return parse_with(read_document, text, source);
}

Result<topology::HostGroups> parse_described_groups(std::string_view text,
                                                    const std::string& source) {
  return parse_with(read_groups, text, source);
}

}  // namespace weir::plan
