// A file of arrays in groups, with attributes and chunks, for the tests of HDF5.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/test_description.hpp"
#include "stored/file_description.hpp"

namespace weir::storage {

inline FileDescription hdf5_example() {
  return {.arrays = {{.name = "fields/u",
                      .shape = shape_of({6, 10}),
                      .dimension_names = {"y", "x"},
                      .attributes = {{"units", "m s-1"}, {"scale", std::vector<double>{2.5}}}},
                     {.name = "x",
                      .shape = shape_of({10}),
                      .type = array::ElementKind::float32,
                      .dimension_names = {"x"},
                      .attributes = {{"units", "m"}}},
                     {.name = "fields/deep/c",
                      .shape = shape_of({7, 9}),
                      .type = array::ElementKind::int32,
                      .chunk_extents = array::Indices{2, 4}}},
          .groups = {{"", {{"title", "a test"}}},
                     {"fields", {{"levels", std::vector<std::int64_t>{1, 2, 3}}}}}};
}

}  // namespace weir::storage
