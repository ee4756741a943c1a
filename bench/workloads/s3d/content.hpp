// The files contain the arrays of S3D's restart files, of which a rank has a part. Pure.
//
// A Fortran program declares them as yspecies(nx, ny, nz, species), u(nx, ny, nz, 3),
// pressure(nx, ny, nz) and temp(nx, ny, nz). The files have the same elements in the same order,
// so their extents are reversed here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "array/box.hpp"
#include "array/per_dimension.hpp"
#include "workloads/output/content.hpp"
#include "workloads/s3d/parameters.hpp"

namespace weir::bench::s3d {

inline constexpr std::int64_t velocities = 3;
// Returns the doubles that a cell has: species, velocities, pressure and temperature.
[[nodiscard]] inline std::int64_t doubles_of_cell(std::int64_t species) {
  return species + velocities + 2;
}

// Returns the cells of a rank, along x, y and z. Along each dimension the first processes have one
// cell more than the others if the cells cannot be divided. Ranks are counted along x first. A rank
// beyond the grid has no cells.
[[nodiscard]] array::Box box_of(const array::Indices& cells, const array::Indices& grid,
                                std::int64_t rank);

class S3dContent final : public output::Content {
 public:
  S3dContent(const Options& options, Decomposition decomposition)
      : species_(options.species), steps_(options.steps), decomposition_(decomposition) {}

  [[nodiscard]] std::vector<output::Kind> kinds() const override;
  [[nodiscard]] std::int64_t variables() const override;
  [[nodiscard]] std::string file_name(std::size_t kind, std::int64_t number,
                                      const Interface& api) const override;
  [[nodiscard]] std::vector<output::FileArray> arrays(const output::Form& form,
                                                      std::int64_t rank) const override;
  [[nodiscard]] bool redivides() const override {
    return decomposition_.reading != decomposition_.writing;
  }
  [[nodiscard]] std::int64_t fullest_rank() const override { return 0; }
  [[nodiscard]] nlohmann::ordered_json facts() const override;
  [[nodiscard]] std::string headline() const override;

 private:
  std::int64_t species_;
  std::int64_t steps_;
  Decomposition decomposition_;
};

}  // namespace weir::bench::s3d
