// The settings of the array workload, and the configurations that follow from --api.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/settings.hpp"
#include "common/status.hpp"
#include "measurement/core_settings.hpp"
#include "workloads/array/geometry.hpp"

namespace weir::bench::array_io {

// With `contiguous` every rank writes equally many bytes in one piece; the other interfaces are
// compared with it.
enum class Api {
  weir,  // raw format
  weir_hdf5,
  weir_cdf5,
  weir_zarr,
  mpiio,
  mpiio_independent,
  hdf5,
  pnetcdf,
  posix,
  contiguous
};
// Returns the format that Weir writes; "" for raw arrays and other interfaces.
[[nodiscard]] const char* format_of(Api api);
[[nodiscard]] bool is_weir(Api api);
[[nodiscard]] const char* name_of(Api api);  // the name on the command line

// One configuration.
struct Variant {
  Api api = Api::mpiio;
  std::string label;
  std::string slug;  // no two configurations of a job share one
};

// The options that all configurations of a job share.
struct Options {
  bool write = true;
  bool read = true;
  bool existing = false;                     // write over the file of the previous repetition
  bool peak = false;                         // also measure Api::contiguous
  std::int64_t aggregators = 0;              // 0: the interface decides
  std::int64_t buffer_bytes = 0;             // of one buffer; 0: the interface decides
  std::int64_t buffers = 0;                  // per aggregator; 0: the interface decides
  std::optional<array::Indices> chunk = {};  // extents; nothing: not chunked
  std::string codec = {};                    // of the chunks; "": none
  std::string strategy = "automatic";
  std::string engine = "automatic";
  bool explain = false;  // print how Weir moves the array
  std::string layout = "shared";
  bool column_major = false;  // order of the file
  std::string hints_file;
  std::vector<std::string> directories =
      {};  // several absolute paths; empty: only that of CoreSettings
};

[[nodiscard]] std::vector<Setting> declarations();
// Returns the distribution that the settings with these names request, over at most `ranks` ranks.
[[nodiscard]] Result<array::RegularDistribution> distribution_of(const Settings& settings,
                                                                 const std::string& formats_name,
                                                                 const std::string& grid_name,
                                                                 const array::Shape& shape,
                                                                 std::int64_t ranks);
[[nodiscard]] Result<Geometry> geometry_of(const Settings& settings, std::int64_t ranks);
[[nodiscard]] Result<Options> options_of(const Settings& settings, const Geometry& geometry);
[[nodiscard]] Result<std::vector<Variant>> variants_of(const Settings& settings);

// Checks every rule between geometry, options, core settings and configurations. The error names
// the first rule that is broken.
[[nodiscard]] Status check_combination(const Geometry& geometry, const Options& options,
                                       const CoreSettings& core,
                                       const std::vector<Variant>& variants);

}  // namespace weir::bench::array_io
