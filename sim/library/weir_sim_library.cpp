// weir-sim-library: like weir-sim, but what is simulated is the array library itself, or a workload
// of weir-bench, on as many simulated ranks as the described job has.
#include <utility>

#include "library/library_run.hpp"
#include "library/workload_run.hpp"
#include "program.hpp"

namespace {

constexpr const char* help =
    "usage: weir-sim-library < DESCRIPTION\n\n"
    "Runs the array library on simulated ranks of a machine that a JSON document describes, and\n"
    "prints the outcome as JSON. `weir sim --level library` is the command for users;\n"
    "docs/simulation.md describes the documents.\n";

weir::Result<weir::sim::Simulated> simulate(const weir::sim::Description& asked) {
  auto planned = weir::sim::plan_for_library(asked);
  if (!planned) return planned.error();
  auto outcome = asked.workload == weir::sim::Workload::library
                     ? weir::sim::run_library(asked, planned.value())
                     : weir::sim::run_workload(asked, planned.value());
  if (!outcome) return outcome.error();
  return weir::sim::Simulated{std::move(planned).value(), std::move(outcome).value()};
}

}  // namespace

int main(int count, char** words) {
  return weir::sim::run_simulator({count, words}, "weir-sim-library", help, simulate);
}
