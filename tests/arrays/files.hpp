// The fixture of tests of files, and what their arrays hold.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "parallel.hpp"

namespace weir::test {

// By what each element is known again: array, step and number.
template <typename Element>
std::vector<Element> part_of_step(const Distribution& distributed, const Extents& shape, int array,
                                  int step) {
  auto part = numbered_part<Element>(distributed, shape);
  for (Element& one : part) one = static_cast<Element>(one + 1000 * step + 10000 * array);
  return part;
}

struct Written {
  Array fixed;
  Array density;
  Array time;
};

class Files : public OnRanks {
 protected:
  static constexpr std::array<const char*, 6> formats = {"hdf5", "cdf5", "cdf2",
                                                         "cdf1", "zarr", "raw"};
  static constexpr std::array<const char*, 4> strategies = {"direct", "node", "two-phase",
                                                            "server-directed"};
  const Extents plane = {7, 10};
  const Extents cube = {5, 6, 4};

  [[nodiscard]] static weir_session_options by(const char* strategy) {
    weir_session_options options{};
    options.strategy = strategy;
    options.buffer_bytes = 200;  // several pieces
    options.ranks_per_node = 2;
    return options;
  }
  [[nodiscard]] std::string file_of(const std::string& format) const {
    return path("file." + format);
  }
  [[nodiscard]] static weir_file_options as(const char* format) {
    weir_file_options options{};
    options.format = format;
    return options;
  }
  Written define(File& file, bool chunked) const {
    static const std::array<std::int64_t, 2> plane_chunks = {3, 4};
    static const std::array<std::int64_t, 3> cube_chunks = {2, 6, 3};
    static const std::array<const char*, 3> names = {"z", "y", "x"};
    weir_define_options once{};
    weir_define_options stepped{};
    weir_define_options number{};
    stepped.steps = number.steps = 1;
    stepped.dimension_names = names.data();
    if (chunked) {
      once.chunks = plane_chunks.data();
      stepped.chunks = cube_chunks.data();
    }
    Written made{file.define<std::int32_t>("grid", plane, once),
                 file.define<double>("density", cube, stepped),
                 file.define<float>("time", {1}, number)};
    file.attribute("density", "units", "kg m-3");
    file.attribute("", "run", std::array<std::int64_t, 2>{1, 2});
    return made;
  }
  [[nodiscard]] static bool has_chunks(const std::string& format) {
    return format == "hdf5" || format == "zarr" || format == "raw";
  }
};

}  // namespace weir::test
