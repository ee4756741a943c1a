// The settings of the array workload, and the configurations that follow from --api.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "common/status.hpp"
#include "interfaces/interface.hpp"
#include "measurement/core_settings.hpp"
#include "workloads/array/geometry.hpp"

namespace weir::bench::array_io {

inline constexpr const char* contiguous_name = "contiguous";

// One configuration.
struct Variant {
  const Interface* api = interface_named("mpiio");
  // Every rank writes equally many bytes in one piece; the others are compared with this.
  bool contiguous = false;
  std::string label;
  std::string slug;  // no two configurations of a job share one

  [[nodiscard]] std::string name() const {  // on the command line
    return contiguous ? contiguous_name : std::string(api->name);
  }
};

// The options that all configurations of a job share.
struct Options {
  bool write = true;
  bool read = true;
  bool existing = false;                     // write over the file of the previous repetition
  bool peak = false;                         // also measure contiguous pieces
  std::int64_t aggregators = 0;              // 0: the interface decides
  std::int64_t buffer_bytes = 0;             // of one buffer; 0: the interface decides
  std::int64_t buffers = 0;                  // per aggregator; 0: the interface decides
  std::optional<array::Indices> chunk = {};  // extents; nothing: not chunked
  std::string codec = {};                    // of the chunks; "": none
  std::string strategy = "automatic";
  std::string engine = "automatic";
  std::int64_t ranks_per_node = 0;  // that count as a node; 0: those that share memory
  std::string io_groups = {};       // "": one group
  std::string placement = {};       // of aggregators; "": as the library's settings say
  bool explain = false;             // print how Weir moves the array
  FileLayout layout = FileLayout::shared;
  bool column_major = false;  // order of the file
  std::string hints_file;
  std::vector<std::string> directories =
      {};  // several absolute paths; empty: only that of CoreSettings
};

// Returns the settings that differ between configurations.
[[nodiscard]] FieldSettings<Variant> variant_table();
[[nodiscard]] std::vector<Setting> declarations();
[[nodiscard]] Result<Geometry> geometry_of(const Settings& settings, std::int64_t ranks);
[[nodiscard]] Result<Options> options_of(const Settings& settings, const Geometry& geometry);
[[nodiscard]] Result<std::vector<Variant>> variants_of(const Settings& settings, bool peak);

// Checks every rule between geometry, options, core settings and configurations. The error names
// the first rule that is broken.
[[nodiscard]] Status check_combination(const Geometry& geometry, const Options& options,
                                       const CoreSettings& core,
                                       const std::vector<Variant>& variants);

}  // namespace weir::bench::array_io
