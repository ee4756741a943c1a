// The settings of the sink workload, and the configurations that follow from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "array/regular_distribution.hpp"
#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "common/status.hpp"
#include "interfaces/array_part.hpp"
#include "interfaces/interface.hpp"
#include "interfaces/staging.hpp"
#include "measurement/core_settings.hpp"

namespace weir::bench::sink {

// One configuration: a route, and a size of messages.
struct Variant {
  const Interface* api = interface_named("weir");
  Staging staging = Staging::none;
  std::int64_t stagers = 0;        // of a service
  std::int64_t receivers = 0;      // threads of each stager of a service that receive
  std::int64_t aggregators = 0;    // 0: the interface decides
  std::int64_t message_bytes = 0;  // of one rank

  [[nodiscard]] bool is_staged() const { return staging != Staging::none; }
  // Names what messages of all sizes have in common.
  [[nodiscard]] std::string route() const;
  [[nodiscard]] std::string label() const;
  [[nodiscard]] std::string slug() const;  // no two configurations of a job share one
  // Names the stagers; configurations with the same ones share them. "": none.
  [[nodiscard]] std::string stagers_slug() const;
};

// The options that all configurations of a job share.
struct Options {
  std::int64_t iterations = 1000;
  std::int64_t rank_bytes = 0;  // that a rank sends in a repetition, at most; 0: any number
  bool into_file = false;  // the messages overwrite a file in place; otherwise they are dropped
  std::string strategy = "automatic";
  std::int64_t ranks_per_node = 0;  // that count as a node; 0: those that share memory
  std::string io_groups = {};       // "": one group
  std::string placement = {};       // of aggregators; "": as the library's settings say
  std::string hints_file = {};

  [[nodiscard]] std::int64_t messages(const Variant& variant) const;  // of a rank in a repetition
};

// The largest message of a rank.
inline constexpr std::int64_t most_message_bytes = std::int64_t{1} << 30;

// Returns the settings that differ between configurations.
[[nodiscard]] FieldSettings<Variant> variant_table();
[[nodiscard]] std::vector<Setting> declarations();
[[nodiscard]] Options options_of(const Settings& settings);
[[nodiscard]] Result<std::vector<Variant>> variants_of(const Settings& settings);
// Checks every rule between options, core settings and configurations. The error names the first
// rule that is broken.
[[nodiscard]] Status check_combination(const Options& options, const CoreSettings& core,
                                       const std::vector<Variant>& variants, std::int64_t ranks);

// Returns the message of a rank as its part of an array that has a row for each rank.
[[nodiscard]] Result<Part> message_of(std::int64_t message_bytes, std::int64_t ranks,
                                      std::int64_t rank);

}  // namespace weir::bench::sink
