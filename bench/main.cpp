// weir-bench: runs one workload on the ranks of an MPI job. One file per workload in workloads/.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "measurement/build_info.hpp"
#include "measurement/environment.hpp"
#include "measurement/failure.hpp"
#include "workloads/array.hpp"
#include "workloads/calibrate.hpp"
#include "workloads/flagfile.hpp"
#include "workloads/madbench.hpp"
#include "workloads/metadata.hpp"
#include "workloads/open.hpp"
#include "workloads/plan.hpp"
#include "workloads/probe.hpp"
#include "workloads/stream.hpp"

namespace {

struct Workload {
  std::string_view name;
  std::string_view summary;
  int (*run)(const std::vector<std::string>& arguments);
};

constexpr Workload workloads[] = {
    {"madbench", "MADbench2's I/O: write, read-write and read of out-of-core matrices",
     weir::bench::run_madbench},
    {"madcap", "the analysis behind MADbench2: the spectrum of a simulated map, out of core",
     weir::bench::run_madcap},
    {"stream", "IOR's patterns through POSIX, io_uring, MPI-IO, HDF5 and PnetCDF",
     weir::bench::run_stream},
    {"array", "arrays and sections of them, by Weir, MPI-IO, HDF5, PnetCDF and plain rows",
     weir::bench::run_array},
    {"metadata",
     "mdtest's phases and what they lack: what creating, finding and removing files costs",
     weir::bench::run_metadata},
    {"open", "what opening a file costs that ranks share, by POSIX, MPI-IO, HDF5, PnetCDF and Weir",
     weir::bench::run_open},
    {"flagfile", "what ranks that poll a file do to everyone else's look-ups",
     weir::bench::run_flagfile},
    {"calibrate", "a few seconds of the simplest I/O, for the expectation before a run",
     weir::bench::run_calibrate},
    {"probe", "what each part of the path does, in under a minute, for a platform description",
     weir::bench::run_probe},
    {"plan", "how the library would move an array on a machine of any size; runs without MPI",
     weir::bench::run_plan},
};

void print_usage(std::FILE* stream) {
  fmt::print(stream, "usage: weir-bench WORKLOAD [OPTIONS]    (under an MPI launcher)\n\n");
  for (const Workload& workload : workloads) {
    fmt::print(stream, "  {:<12}{}\n", workload.name, workload.summary);
  }
  fmt::print(stream, "\n`weir-bench WORKLOAD --help` lists a workload's settings.\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    print_usage(stderr);
    return weir::bench::exit_usage;
  }
  if (arguments[0] == "--help" || arguments[0] == "-h") {
    print_usage(stdout);
    return 0;
  }
  if (arguments[0] == "--version") {
    const std::string mpi = weir::bench::mpi_library();
    fmt::print("weir-bench {}\n", weir::bench::build_info::version);
    fmt::print("MPI: {}\n", mpi.substr(0, mpi.find('\n')));
    return 0;
  }
  for (const Workload& workload : workloads) {
    if (workload.name == arguments[0]) {
      return workload.run({arguments.begin() + 1, arguments.end()});
    }
  }
  fmt::print(stderr, "weir-bench: there is no workload '{}'; `weir-bench --help` lists them\n",
             arguments[0]);
  return weir::bench::exit_usage;
}
