// The s3d workload: the restart files of the combustion code S3D, written by Weir, HDF5, PnetCDF
// and MPI-IO, with busy work between them, and read back on another number of ranks.
#include <memory>

#include "workloads/output/workload.hpp"
#include "workloads/s3d/content.hpp"
#include "workloads/s3d/parameters.hpp"

namespace weir::bench {
namespace {

Result<std::unique_ptr<output::Content>> s3d_content(const Settings& settings, std::int64_t ranks,
                                                     const std::vector<output::Variant>& variants) {
  const s3d::Options options = s3d::options_of(settings);
  const auto decomposition = s3d::decomposition_of(options, ranks, variants);
  if (!decomposition) return decomposition.error();
  return std::unique_ptr<output::Content>(
      std::make_unique<s3d::S3dContent>(options, decomposition.value()));
}

}  // namespace

int run_s3d(const std::vector<std::string>& arguments) {
  return output::run(
      {.name = "s3d",
       .description =
           "Writes the restart files of the combustion code S3D, with busy work between them, and "
           "reads them back on another number of ranks. Reports the throughput that the program "
           "observes and that of the storage.",
       .settings = s3d::declarations(),
       .few_bytes = {"--no-strong", "--nx=1", "--ny=1", "--nz=1", "--steps=1", "--no-keep"},
       .content = s3d_content},
      arguments);
}

}  // namespace weir::bench
