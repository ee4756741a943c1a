// The flash workload: FLASH's checkpoints and plot files of an adaptive mesh, written by Weir,
// HDF5, PnetCDF and MPI-IO, with busy work between them.
#include <memory>

#include "workloads/flash/content.hpp"
#include "workloads/flash/parameters.hpp"
#include "workloads/output/workload.hpp"

namespace weir::bench {
namespace {

Result<std::unique_ptr<output::Content>> flash_content(
    const Settings& settings, std::int64_t ranks, const std::vector<output::Variant>& variants) {
  const flash::Options options = flash::options_of(settings);
  if (Status fits = flash::check_combination(options, ranks, variants); !fits) return fits.error();
  return std::unique_ptr<output::Content>(std::make_unique<flash::FlashContent>(options, ranks));
}

}  // namespace

int run_flash(const std::vector<std::string>& arguments) {
  return output::run(
      {.name = "flash",
       .description =
           "Writes the checkpoints and plot files of the FLASH code for a blast wave on an "
           "adaptive mesh, with busy work between them. Reports the throughput that the program "
           "observes and that of the storage.",
       .settings = flash::declarations(),
       .few_bytes = {"--blocks=1", "--nxb=1", "--nyb=1", "--nzb=1", "--checkpoints=1", "--plots=0",
                     "--no-keep"},
       .content = flash_content},
      arguments);
}

}  // namespace weir::bench
