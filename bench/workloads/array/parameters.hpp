// What the array workload does: its settings, and the configurations that --api makes of them.
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

// `contiguous` is what the others are held against: every rank writes as many bytes in one piece.
enum class Api {
  weir,  // raw
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
// The format that Weir writes; "" of raw arrays and other interfaces.
[[nodiscard]] const char* format_of(Api api);
[[nodiscard]] bool is_weir(Api api);
[[nodiscard]] const char* name_of(Api api);  // as users give them

// One configuration.
struct Variant {
  Api api = Api::mpiio;
  std::string label;
  std::string slug;  // no two configurations of a job share one
};

// What all configurations of a job share.
struct Options {
  bool write = true;
  bool read = true;
  bool existing = false;                     // write over the file of the repetition before
  bool peak = false;                         // also measure Api::contiguous
  std::int64_t aggregators = 0;              // 0: the interface decides
  std::int64_t buffer_bytes = 0;             // of one buffer; 0: the interface decides
  std::int64_t buffers = 0;                  // per aggregator; 0: the interface decides
  std::optional<array::Indices> chunk = {};  // extents; nothing: not chunked
  std::string codec = {};                    // of the chunks; "": none
  std::string strategy = "automatic";
  std::string engine = "automatic";
  bool explain = false;  // print it
  std::string layout = "shared";
  bool column_major = false;  // of the file
  std::string hints_file;
  std::vector<std::string> directories = {};  // several, absolute; none: CoreSettings has the one
};

[[nodiscard]] std::vector<Setting> declarations();
// The distribution that the settings of these names ask for, over at most `ranks` ranks.
[[nodiscard]] Result<array::RegularDistribution> distribution_of(const Settings& settings,
                                                                 const std::string& formats_name,
                                                                 const std::string& grid_name,
                                                                 const array::Shape& shape,
                                                                 std::int64_t ranks);
[[nodiscard]] Result<Geometry> geometry_of(const Settings& settings, std::int64_t ranks);
[[nodiscard]] Result<Options> options_of(const Settings& settings, const Geometry& geometry);
[[nodiscard]] Result<std::vector<Variant>> variants_of(const Settings& settings);

// Every rule between geometry, options, core settings and configurations; the first that is broken
// is named.
[[nodiscard]] Status check_combination(const Geometry& geometry, const Options& options,
                                       const CoreSettings& core,
                                       const std::vector<Variant>& variants);

}  // namespace weir::bench::array_io
