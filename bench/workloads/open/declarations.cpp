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
       .help = "what the file is opened with: open on every rank, MPI_File_open, parallel HDF5, "
               "PnetCDF, the library; each is a configuration",
       .choices = api_names()},
      {.name = "layout",
       .kind = Kind::choices,
       .default_value = "shared",
       .metavar = "LIST",
       .help = "one file for all ranks, a file for every rank, or one for some ranks, with the "
               "same data; several make several configurations",
       .choices = {"shared", "per-rank", "subfiled"}},
      {.name = "one-file-per-rank",
       .kind = Kind::flag,
       .default_value = "false",
       .help = "a creation storm: the same as --layout per-rank,subfiled,shared"},
      {.name = "ranks-per-file",
       .kind = Kind::integer,
       .default_value = "8",
       .metavar = "N",
       .help = "that share a subfile; the library's subfiles are one per aggregator"},
      {.name = "bytes",
       .kind = Kind::bytes,
       .default_value = "64",
       .metavar = "SIZE",
       .help = "of every rank, written and read collectively once the file is open; a multiple of "
               "8"},
      {.name = "mpi-io",
       .kind = Kind::choice,
       .default_value = "default",
       .metavar = "NAME",
       .help = "Open MPI's implementation of MPI-IO, which HDF5 and PnetCDF use too; one for a job",
       .choices = {"default", "ompio", "romio"}},
      {.name = "ranks-per-node",
       .kind = Kind::integer,
       .metavar = "N",
       .help = "the library takes N consecutive ranks for a node, to see on one node what several "
               "would ask for"},
      {.name = "count",
       .kind = Kind::flag,
       .default_value = "true",
       .help = "before what is timed, count the metadata operations of each step on 1, 2, 4 and so "
               "on to all ranks"},
      {.name = "operations-per-second",
       .kind = Kind::real,
       .metavar = "RATE",
       .help = "that the file system serves in all: what the counted operations will take on more "
               "ranks [as --platform says, otherwise not told]"},
  };
}

}  // namespace

std::vector<Setting> declarations() {
  std::vector<Setting> all = own();
  for (Setting& setting : core_declarations()) {
    if (setting.name == "sync") {
      setting.default_value = "none";
      setting.help = "is of data: only none";
    } else if (setting.name == "verify") {
      setting.help = "check that every rank opened the file with its data, and what is left";
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
