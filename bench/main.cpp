// weir-bench: runs one workload on the ranks of an MPI job. One file per workload in workloads/.
// The workloads are entered in a table here, and nowhere else.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "measurement/build_info.hpp"
#include "measurement/environment.hpp"
#include "measurement/failure.hpp"

namespace weir::bench {

// Each of these is defined in the file of its name; run_madcap() is in madbench.cpp. `arguments`
// are those after the workload's name. The functions call MPI_Init and MPI_Finalize if ranks are
// needed, which is not so for --help and --plan, and return the exit status. A failure is printed
// as one line.
int run_array(const std::vector<std::string>& arguments);
int run_calibrate(const std::vector<std::string>& arguments);
int run_flagfile(const std::vector<std::string>& arguments);
int run_flash(const std::vector<std::string>& arguments);
int run_madbench(const std::vector<std::string>& arguments);
int run_madcap(const std::vector<std::string>& arguments);
int run_metadata(const std::vector<std::string>& arguments);
int run_open(const std::vector<std::string>& arguments);
int run_plan(const std::vector<std::string>& arguments);
int run_probe(const std::vector<std::string>& arguments);
int run_replay(const std::vector<std::string>& arguments);
int run_s3d(const std::vector<std::string>& arguments);
int run_sink(const std::vector<std::string>& arguments);
int run_stream(const std::vector<std::string>& arguments);

}  // namespace weir::bench

namespace {

struct Workload {
  std::string_view name;
  std::string_view summary;
  int (*run)(const std::vector<std::string>& arguments);
};

constexpr Workload workloads[] = {
    {"madbench", "MADbench2's I/O: writes, reads and writes, then reads out-of-core matrices",
     weir::bench::run_madbench},
    {"madcap",
     "the analysis behind MADbench2: estimates the spectrum of a simulated map, out of core",
     weir::bench::run_madcap},
    {"stream", "IOR's patterns by POSIX, io_uring, MPI-IO, HDF5 and PnetCDF",
     weir::bench::run_stream},
    {"array",
     "distributed arrays and their sections, by Weir, MPI-IO, HDF5, PnetCDF and POSIX rows",
     weir::bench::run_array},
    {"metadata", "mdtest's phases and more: the cost of creating, finding and removing files",
     weir::bench::run_metadata},
    {"open", "the cost of opening a shared file, by POSIX, MPI-IO, HDF5, PnetCDF and Weir",
     weir::bench::run_open},
    {"flagfile", "how ranks that poll a file slow down the look-ups of other ranks",
     weir::bench::run_flagfile},
    {"flash",
     "FLASH's checkpoints and plot files of an adaptive mesh, by Weir, HDF5, PnetCDF and MPI-IO",
     weir::bench::run_flash},
    {"s3d", "S3D's restart files, written and read back on other ranks, by the same interfaces",
     weir::bench::run_s3d},
    {"replay", "what a program asked of files, recorded by weir record, by POSIX or MPI-IO",
     weir::bench::run_replay},
    {"sink", "messages of every rank to where they are dropped, over a range of sizes",
     weir::bench::run_sink},
    {"calibrate", "measures the simplest I/O for a few seconds, for the expectation before a run",
     weir::bench::run_calibrate},
    {"probe", "measures each part of the I/O path in under a minute, for a platform description",
     weir::bench::run_probe},
    {"plan", "shows how the library would move an array on a machine of any size; runs without MPI",
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
  fmt::print(stderr, "weir-bench: unknown workload '{}'; `weir-bench --help` lists the workloads\n",
             arguments[0]);
  return weir::bench::exit_usage;
}
