// The settings of `weir-bench open`.
#include <string_view>
#include <vector>

#include "workloads/open/parameters.hpp"

namespace weir::bench::opening {
namespace {

using Kind = SettingKind;

std::vector<std::string_view> api_names() {
  return interface_names([](const Capabilities& can) { return can.names; }, &Interface::title);
}

std::vector<Setting> own() {
  return {
      {.name = "api",
       .kind = Kind::choices,
       .default_value = "POSIX,MPIIO,HDF5,PNETCDF,WEIR",
       .metavar = "LIST",
       .help = "interface that opens the file: open on every rank, MPI_File_open, parallel HDF5, "
               "PnetCDF, Weir's library; each is a configuration",
       .choices = api_names()},
      {.name = "layout",
       .kind = Kind::choices,
       .default_value = "shared",
       .metavar = "LIST",
       .help = "one file for all ranks, one for every rank, or one for a group of ranks, with the "
               "same data; each is a configuration",
       .choices = {"shared", "per-rank", "subfiled"}},
      {.name = "one-file-per-rank",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "measure a creation storm: the same as --layout per-rank,subfiled,shared"},
      {.name = "ranks-per-file",
       .kind = Kind::integer,
       .default_value = "8",
       .metavar = "N",
       .help =
           "number of ranks that share a subfile; Weir's library has one subfile per aggregator"},
      {.name = "bytes",
       .kind = Kind::bytes,
       .default_value = "64",
       .metavar = "SIZE",
       .help = "bytes of every rank, written and read collectively once the file is open; a "
               "multiple of 8"},
      {.name = "mpi-io",
       .kind = Kind::choice,
       .default_value = "default",
       .metavar = "NAME",
       .help =
           "implementation of MPI-IO in Open MPI, which HDF5 and PnetCDF use too; one for a job",
       .choices = {"default", "ompio", "romio"}},
      {.name = "ranks-per-node",
       .kind = Kind::integer,
       .metavar = "N",
       .help = "the library treats N consecutive ranks as a node, to see on one node the requests "
               "of several"},
      {.name = "count",
       .kind = Kind::flag,
       .default_value = "true",
       .help = "before the timed part, count the metadata operations of each step on 1, 2, 4 and "
               "so on, up to all ranks"},
      {.name = "operations-per-second",
       .kind = Kind::real,
       .metavar = "RATE",
       .help = "metadata operations that the file system serves per second, to estimate the time "
               "on more ranks [from --platform, otherwise no estimate]"},
  };
}

}  // namespace

std::vector<Setting> declarations() {
  std::vector<Setting> all = own();
  for (Setting& setting : core_declarations()) {
    if (setting.name == "sync") {
      setting.default_value = "none";
      setting.help = "applies to data only: none is the only value here";
    } else if (setting.name == "verify") {
      setting.help =
          "check that every rank opened the file with its data, and that nothing else remains";
    } else if (setting.name == "precision") {
      setting.help =
          "repeat until the 95 % confidence interval of the median time is within this fraction "
          "of it";
    }
    all.push_back(setting);
  }
  return all;
}

}  // namespace weir::bench::opening
