// The settings that all workloads share which write files in turn with computing, and the
// configurations that follow from --api and --staging.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/setting_fields.hpp"
#include "common/settings.hpp"
#include "common/status.hpp"
#include "interfaces/interface.hpp"
#include "interfaces/staging.hpp"
#include "measurement/core_settings.hpp"

namespace weir::bench::output {

// One configuration.
struct Variant {
  const Interface* api = nullptr;
  Staging staging = Staging::none;

  [[nodiscard]] bool is_staged() const { return staging != Staging::none; }
  [[nodiscard]] std::string label() const;  // "weir-hdf5 staged"
  [[nodiscard]] std::string slug() const;   // no two configurations of a job share one
};

// The options that all configurations of a job share.
struct Options {
  double work_seconds = 0;  // of busy work after each output step
  bool keep = false;        // the files of the last repetition stay
  std::string hints_file;
  bool in_journal = false;  // staged steps end when they are in the journals of their stagers
  std::string service;      // file or folder by which the stagers of a service are found
};

[[nodiscard]] FieldSettings<Variant> variant_table();
[[nodiscard]] FieldSettings<Options> options_table();
// Returns the declarations of these tables, with a workload's own between them, and of the core
// settings.
[[nodiscard]] std::vector<Setting> declarations(const std::vector<Setting>& own);
[[nodiscard]] Options options_of(const Settings& settings);

// Returns the refusal of a rule that is broken, with the workload's name.
[[nodiscard]] Error refuse(const char* workload, const std::string& rule);

// Returns the combinations of --api and --staging. An interface without staging takes part in those
// without; it is refused if there are none.
[[nodiscard]] Result<std::vector<Variant>> variants_of(const char* workload,
                                                       const Settings& settings);
// Checks every rule between these settings and the core settings. The error names the first rule
// that is broken.
[[nodiscard]] Status check_combination(const char* workload, const Options& options,
                                       const CoreSettings& core,
                                       const std::vector<Variant>& variants);
// Fails if an interface cannot count the elements of a box. `option` is the one that decides the
// size.
[[nodiscard]] Status check_count(const char* workload, const char* option, std::int64_t elements,
                                 const std::vector<Variant>& variants);

}  // namespace weir::bench::output
