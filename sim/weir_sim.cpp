// weir-sim: reads a description (JSON) from standard input, simulates it, and prints the outcome as
// JSON. It starts no ranks and touches no files. `weir sim` writes descriptions and reads outcomes.
#include "execution.hpp"
#include "planned.hpp"
#include "program.hpp"

namespace {

constexpr const char* help =
    "usage: weir-sim < DESCRIPTION\n\n"
    "Simulates how a machine that a JSON document describes moves an array, and prints the "
    "outcome\n"
    "as JSON. `weir sim` is the command for users; docs/simulation.md describes the documents.\n";

weir::Result<weir::sim::Simulated> simulate(const weir::sim::Description& asked) {
  auto planned = weir::sim::plan_of(asked);
  if (!planned) return planned.error();
  weir::sim::Outcome outcome = weir::sim::execute(asked, planned.value().flows);
  return weir::sim::Simulated{std::move(planned).value(), std::move(outcome)};
}

}  // namespace

int main(int count, char** words) {
  return weir::sim::run_simulator({count, words}, "weir-sim", help, simulate);
}
