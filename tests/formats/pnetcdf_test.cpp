// Files laid out by Weir's header code and written through extent maps are read by PnetCDF, and
// files of PnetCDF's are read through extent maps.
#include <gtest/gtest.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/cdf/cdf_format.hpp"
#include "formats/test_transfer.hpp"
#include "system/test_folder.hpp"

namespace weir::storage {
namespace {

using array::ElementKind;

constexpr int steps = 3;

array::Shape shape_of(std::initializer_list<std::int64_t> extents) {
  return array::Shape::create(extents).value();
}

FileDescription example(int version) {
  FileDescription file = {
      .arrays = {{.name = "fixed",
                  .shape = shape_of({7, 5}),
                  .dimension_names = {"y", "x"},
                  .attributes = {{"units", "m s-1"}, {"range", std::vector<double>{-1, 2.5}}}},
                 {.name = "steps",
                  .shape = shape_of({0, 7, 5}),
                  .type = ElementKind::float32,
                  .grows = true,
                  .dimension_names = {"time", "y", "x"}},
                 {.name = "odd",
                  .shape = shape_of({0, 5}),
                  .type = ElementKind::int16,
                  .grows = true,
                  .dimension_names = {"time", "x"}},
                 {.name = "transposed",
                  .shape = shape_of({5, 7}),
                  .type = ElementKind::int32,
                  .order = array::Order::column_major}},
      .groups = {{"", {{"levels", std::vector<std::int64_t>{1, -2}}}}},
      .alignment = 512};
  if (version == 5) {
    file.arrays.push_back({.name = "long", .shape = shape_of({5, 2}), .type = ElementKind::int64});
  }
  return file;
}

class PnetcdfFile {
 public:
  PnetcdfFile(const std::string& path, int mode, bool create) {
    const int failed = create
                           ? ncmpi_create(MPI_COMM_SELF, path.c_str(), mode, MPI_INFO_NULL, &file_)
                           : ncmpi_open(MPI_COMM_SELF, path.c_str(), mode, MPI_INFO_NULL, &file_);
    EXPECT_EQ(failed, NC_NOERR) << ncmpi_strerror(failed);
  }
  PnetcdfFile(const PnetcdfFile&) = delete;
  PnetcdfFile& operator=(const PnetcdfFile&) = delete;
  ~PnetcdfFile() { EXPECT_EQ(ncmpi_close(file_), NC_NOERR); }

  [[nodiscard]] int id() const { return file_; }

  [[nodiscard]] std::vector<std::int64_t> read(const char* name, std::size_t count) const {
    std::vector<long long> values(count);
    int variable = -1;
    EXPECT_EQ(ncmpi_inq_varid(file_, name, &variable), NC_NOERR) << name;
    EXPECT_EQ(ncmpi_get_var_longlong_all(file_, variable, values.data()), NC_NOERR) << name;
    return {values.begin(), values.end()};
  }

 private:
  int file_ = -1;
};

TEST(Pnetcdf, ReadsWhatWasWrittenThroughTheMap) {
  for (const int version : {1, 2, 5}) {
    TestFolder folder;
    const std::string path = folder.path("a.nc");
    const Format& format = *cdf_format(version);
    const auto laid_out = make_file(format, example(version), path);
    ASSERT_TRUE(laid_out.ok()) << laid_out.error().text();
    write_array(laid_out.value().find("transposed")->map, 4);
    const auto room = format.make_room(path, steps);
    ASSERT_TRUE(room.ok()) << room.error().text();
    for (const StoredArray& one : room.value().map.arrays) {
      if (one.description.name != "transposed") write_array(one.map, 1);
    }
    ASSERT_TRUE(commit(path, room.value().update, StepDurability::none).ok());

    const PnetcdfFile file(path, NC_NOWRITE, false);
    for (const auto& [name, count] : std::vector<std::pair<const char*, std::size_t>>{
             {"fixed", 35}, {"steps", 105}, {"odd", 15}}) {
      const auto values = file.read(name, count);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(values[i], static_cast<std::int64_t>(i * 3 + 1)) << name;
      }
    }
    // In the file its extents are reversed.
    const auto transposed = file.read("transposed", 35);
    for (std::size_t row = 0; row < 7; ++row) {
      for (std::size_t column = 0; column < 5; ++column) {
        ASSERT_EQ(transposed[row * 5 + column],
                  static_cast<std::int64_t>((column * 7 + row) * 3 + 4));
      }
    }
    if (version == 5) {
      EXPECT_EQ(file.read("long", 10).back(), 28);
    }
    std::array<char, 16> units{};
    std::array<int, 2> levels{};
    EXPECT_EQ(ncmpi_get_att_text(file.id(), 0, "units", units.data()), NC_NOERR);
    EXPECT_EQ(std::string(units.data()), "m s-1");
    EXPECT_EQ(ncmpi_get_att_int(file.id(), NC_GLOBAL, "levels", levels.data()), NC_NOERR);
    EXPECT_EQ(levels[1], -2);
    // The library has the same places as the map.
    for (const StoredArray& one : room.value().map.arrays) {
      int variable = -1;
      MPI_Offset offset = -1;
      ncmpi_inq_varid(file.id(), one.description.name.c_str(), &variable);
      ncmpi_inq_varoffset(file.id(), variable, &offset);
      EXPECT_EQ(offset, one.map.place_of(array::Indices(one.map.shape.dimensions()))->offset);
    }
  }
}

TEST(Pnetcdf, IsReadThroughTheMap) {
  for (const int mode : {0, NC_64BIT_OFFSET, NC_64BIT_DATA}) {
    TestFolder folder;
    const std::string path = folder.path("a.nc");
    {
      const PnetcdfFile file(path, NC_CLOBBER | mode, true);
      int time = -1;
      int x = -1;
      std::array<int, 4> variables{};
      ncmpi_def_dim(file.id(), "time", NC_UNLIMITED, &time);
      ncmpi_def_dim(file.id(), "x", 5, &x);
      const std::array<int, 2> both = {time, x};
      ncmpi_def_var(file.id(), "a", NC_DOUBLE, 2, both.data(), variables.data());
      ncmpi_def_var(file.id(), "b", NC_SHORT, 2, both.data(), &variables[1]);
      ncmpi_def_var(file.id(), "c", NC_INT, 1, &x, &variables[2]);
      ncmpi_def_var(file.id(), "text", NC_CHAR, 1, &x, &variables[3]);
      ncmpi_put_att_text(file.id(), variables[0], "units", 1, "K");
      ASSERT_EQ(ncmpi_enddef(file.id()), NC_NOERR);
      std::vector<int> values(5 * steps);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * 3 + 1);
      const std::array<MPI_Offset, 2> start = {0, 0};
      const std::array<MPI_Offset, 2> count = {steps, 5};
      for (const int variable : {variables[0], variables[1]}) {
        ASSERT_EQ(
            ncmpi_put_vara_int_all(file.id(), variable, start.data(), count.data(), values.data()),
            NC_NOERR);
      }
      ASSERT_EQ(ncmpi_put_var_int_all(file.id(), variables[2], values.data()), NC_NOERR);
      ASSERT_EQ(ncmpi_put_var_text_all(file.id(), variables[3], "weirs"), NC_NOERR);
    }
    const auto map = cdf_format(5)->open(path);
    ASSERT_TRUE(map.ok()) << map.error().text();
    for (const char* name : {"a", "b", "c"}) {
      const auto found = map.value().get(name);
      ASSERT_TRUE(found.ok()) << found.error().text();
      EXPECT_EQ(wrong_elements(found.value()->map, 1), 0) << name;
    }
    EXPECT_EQ(map.value().find("a")->map.shape, shape_of({steps, 5}));
    EXPECT_EQ(map.value().find("a")->description.attributes,
              (std::vector<Attribute>{{"units", "K"}}));
    const auto text = map.value().get("text");
    ASSERT_TRUE(text.ok()) << text.error().text();
    EXPECT_EQ(text.value()->description.type.name(), "text[1]");
    EXPECT_EQ(text.value()->map.shape, shape_of({5}));
  }
}

}  // namespace
}  // namespace weir::storage
