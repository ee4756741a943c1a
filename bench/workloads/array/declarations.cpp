// The settings of `weir-bench array`.
#include <algorithm>
#include <iterator>
#include <utility>

#include "workloads/array/parameters.hpp"

namespace weir::bench::array_io {
namespace {

using Kind = SettingKind;

// Returns the interfaces that move parts of arrays: those that plan, then those that describe
// parts.
std::vector<std::string_view> api_names() {
  auto names = interface_names([](const Capabilities& can) { return can.parts; }, &Interface::name);
  std::stable_sort(names.begin(), names.end(), [](std::string_view a, std::string_view b) {
    const auto order = [](std::string_view name) {
      const Capabilities& can = interface_named(name)->can;
      return can.plans ? 0 : can.part_by_runs ? 2 : 1;
    };
    return order(a) < order(b);
  });
  return names;
}

std::vector<Setting> array_settings() {
  return {
      {.name = "api",
       .kind = Kind::choices,
       .default_value = "mpiio",
       .metavar = "LIST",
       .help = "interface; several make several configurations, interleaved",
       .choices = api_names(),
       .letter = "a"},
      {.name = "shape",
       .default_value = "1024x1024",
       .metavar = "NxMx...",
       .help = "extents of the array, slowest dimension first; suffixes k, m, g"},
      {.name = "type",
       .default_value = "float64",
       .metavar = "TYPE",
       .help = "element type, by NumPy's name, or record[BYTES]"},
      {.name = "distribution",
       .default_value = "BLOCK",
       .metavar = "LIST",
       .help = "distribution over the ranks: BLOCK, BLOCK(b), CYCLIC, CYCLIC(k) or * per "
               "dimension, or one for all"},
      {.name = "grid",
       .metavar = "NxMx...",
       .help = "processes per dimension; 0: as MPI_Dims_create chooses [as MPI_Dims_create]"},
      {.name = "read-distribution",
       .metavar = "LIST",
       .help = "distribution for reading [as for writing]"},
      {.name = "read-grid",
       .metavar = "NxMx...",
       .help = "processes per dimension for reading; with a product below the number of ranks, "
               "fewer ranks read"},
      {.name = "section",
       .metavar = "A:B[:S],...",
       .help =
           "write and read only these indices of an existing array: every S-th from A to before B"},
      {.name = "half-section",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "use a section that covers half of the array and begins on no boundary of blocks or "
               "chunks"},
  };
}

std::vector<Setting> phase_settings() {
  return {
      {.name = "write",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "write, timed; without -w and -r both are done",
       .letter = "w"},
      {.name = "read",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "read, timed",
       .letter = "r"},
      {.name = "existing",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "overwrite the file of the previous repetition instead of creating a new one"},
      {.name = "peak",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "also write and read as many bytes as one contiguous piece per rank, interleaved; "
               "the table shows rates as a share of that rate"},
  };
}

std::vector<Setting> file_settings() {
  return {
      {.name = "chunk",
       .default_value = "none",
       .metavar = "NxM...|natural|none",
       .help = "extents of the chunks on disk (weir, hdf5); natural: the blocks of --distribution"},
      {.name = "chunk-counts",
       .metavar = "NxMx...",
       .help = "number of chunks per dimension, of equal extents, instead of --chunk"},
      {.name = "codec",
       .metavar = "CODECS",
       .help = "codecs of the chunks (weir-hdf5, weir-zarr): zstd:1, shuffle,deflate:4, … [none]"},
      {.name = "layout",
       .kind = Kind::choice,
       .default_value = "shared",
       .metavar = "FILES",
       .help = "weir: store the array in one file, one per aggregator, or one per rank",
       .choices = {"shared", "per-aggregator", "per-rank"}},
      {.name = "file-order",
       .kind = Kind::choice,
       .default_value = "row-major",
       .metavar = "ORDER",
       .help = "weir: order of the elements on disk",
       .choices = {"row-major", "column-major"}},
      {.name = "strategy",
       .kind = Kind::choice,
       .default_value = "automatic",
       .metavar = "HOW",
       .help = "weir: strategy of collective requests",
       .choices = {"automatic", "direct", "node", "two-phase", "server-directed"}},
      {.name = "engine",
       .kind = Kind::choice,
       .default_value = "automatic",
       .metavar = "HOW",
       .help = "weir: how bytes are moved between buffers and files",
       .choices = {"automatic", "posix", "io_uring", "direct-io", "mpi-io"}},
      {.name = "explain",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "weir: print the strategy of each direction, the reason, and the estimated time of "
               "each strategy"},
      {.name = "aggregators",
       .kind = Kind::integer,
       .default_value = "0",
       .metavar = "N",
       .help = "weir: aggregators per node; MPI-IO: aggregators of the job (hint cb_nodes); 0: "
               "automatic"},
      {.name = "buffer",
       .kind = Kind::bytes,
       .default_value = "0",
       .metavar = "BYTES",
       .help = "size of an aggregator's buffer (MPI-IO: hint cb_buffer_size); 0: automatic"},
      {.name = "buffers",
       .kind = Kind::integer,
       .default_value = "0",
       .metavar = "N",
       .help = "weir: buffers per aggregator; 0: automatic"},
      {.name = "hints",
       .metavar = "FILE",
       .help = "file with MPI-IO hints, one NAME = VALUE per line",
       .letter = "U"},
  };
}

}  // namespace

std::vector<Setting> declarations() {
  std::vector<Setting> all;
  for (auto part : {array_settings(), phase_settings(), file_settings(), core_declarations()}) {
    std::move(part.begin(), part.end(), std::back_inserter(all));
  }
  const auto takes_no_part = [](const Setting& setting) {
    return setting.name == "direct" || setting.name == "rank-shift";
  };
  for (Setting& setting : all) {
    if (setting.name == "sync") {
      setting.help = "make all written data durable at the end of the write phase, timed";
    } else if (setting.name == "directory") {
      setting.metavar = "DIR[,DIR...]";
      setting.help =
          "directory of the test files; over several the files of a weir array are distributed "
          "round-robin [files/ if it exists in the current directory, otherwise .]";
    } else if (takes_no_part(setting)) {
      setting.help = "not allowed for arrays";
    }
  }
  return all;
}

}  // namespace weir::bench::array_io
