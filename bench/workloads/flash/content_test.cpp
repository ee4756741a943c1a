#include "workloads/flash/content.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "array/record_members.hpp"
#include "workloads/flash/tables.hpp"

namespace weir::bench::flash {
namespace {

Options sedov() {
  Options options;
  options.nxb = 4;
  options.nyb = 5;
  options.nzb = 6;
  options.variables = 12;
  options.plot_variables = {1, 6, 12};
  return options;
}

constexpr Owner second{.rank = 1, .share = {.first = 9, .count = 10}, .blocks = 38};

const FileArray& named(const std::vector<FileArray>& arrays, const std::string& name) {
  for (const FileArray& one : arrays) {
    if (one.box.name == name) return one;
  }
  throw std::out_of_range(name);
}

TEST(Content, ACheckpointHasAllVariablesInDouble) {
  const auto arrays = arrays_of(Stream::checkpoint, sedov(), second);
  EXPECT_EQ(arrays.size(), 9U + 12U + 9U);
  const ArrayBox& pressure = named(arrays, "pres").box;
  EXPECT_EQ(pressure.extents, (array::Indices{38, 6, 5, 4}));
  EXPECT_EQ(pressure.type.name(), "float64");
  EXPECT_EQ(pressure.box.lower, (array::Indices{9, 0, 0, 0}));
  EXPECT_EQ(pressure.bytes(), 10 * 120 * 8);
  EXPECT_EQ(named(arrays, "s012").variable, 11);
  EXPECT_EQ(named(arrays, "bounding box").box.extents, (array::Indices{38, 3, 2}));
  EXPECT_EQ(named(arrays, "gid").box.extents, (array::Indices{38, 15}));
}

TEST(Content, APlotFileHasItsVariablesInSingle) {
  const auto arrays = arrays_of(Stream::plot, sedov(), second);
  EXPECT_EQ(arrays.size(), 9U + 3U + 9U);
  EXPECT_EQ(named(arrays, "dens").box.type.name(), "float32");
  EXPECT_EQ(named(arrays, "coordinates").box.type.name(), "float32");
  EXPECT_EQ(named(arrays, "unknown names").box.extents, (array::Indices{3, 1}));
}

TEST(Content, NetcdfHasNamesWithoutSpaces) {
  Owner owner = second;
  owner.netcdf = true;
  const auto arrays = arrays_of(Stream::checkpoint, sedov(), owner);
  EXPECT_EQ(arrays.size(), 6U + 12U);
  for (const FileArray& one : arrays) EXPECT_EQ(one.box.name.find(' '), std::string::npos);
  EXPECT_EQ(file_name(Stream::plot, 3, {.netcdf = true}), "sedov_ncmpi_plt_cnt_0003.nc");
}

TEST(Content, ElementsOfTheTreeFillTheRows) {
  const std::vector<BlockRecord> records = Tree(38).records(9, 10);
  for (const Stream stream : all_streams) {
    for (const FileArray& one : arrays_of(stream, sedov(), second)) {
      if (one.variable >= 0) continue;
      const auto elements = tree_elements(one, sedov(), stream, second, records);
      EXPECT_EQ(std::ssize(elements), one.box.bytes()) << one.box.name;
    }
  }
  Owner first = second;
  first.rank = 0;
  const auto arrays = arrays_of(Stream::plot, sedov(), first);
  const auto names =
      tree_elements(named(arrays, "unknown names"), sedov(), Stream::plot, first, {});
  ASSERT_EQ(names.size(), 12U);
  EXPECT_EQ(std::memcmp(names.data(), "denspress012", 12), 0);
}

TEST(Tables, AreRowsOfNamedMembers) {
  const std::vector<Table> tables = tables_of(sedov(), 38);
  for (const Table& one : tables) {
    EXPECT_EQ(std::ssize(one.bytes), one.rows * one.row_bytes) << one.name;
    const auto record = array::ElementType::record(one.row_bytes);
    EXPECT_TRUE(array::parse_record_members(one.members, record.value()).ok()) << one.members;
  }
  const Table& integers = tables.at(1);
  ASSERT_EQ(integers.name, "integer scalars");
  const std::string row(reinterpret_cast<const char*>(integers.bytes.data()), 84);
  EXPECT_EQ(row.substr(0, 80), "nxb" + std::string(77, ' '));
  std::int32_t cells = 0;
  std::memcpy(&cells, row.data() + 80, sizeof cells);
  EXPECT_EQ(cells, 4);
}

// The interfaces take arrays with equal extents and division for equally divided.
TEST(Tables, AreNotDividedAsATreeOfAsManyBlocks) {
  const std::int64_t rows = 2;
  const Owner owner{.rank = 1, .share = {1, 2}, .blocks = rows};
  const auto arrays = arrays_of(Stream::checkpoint, sedov(), owner);
  const FileArray& table = named(arrays, "real scalars");
  const FileArray& tree = named(arrays, "refine level");
  ASSERT_EQ(table.box.extents, tree.box.extents);
  EXPECT_TRUE(table.box.box.empty());
  EXPECT_FALSE(tree.box.box.empty());
  EXPECT_NE(table.box.division, tree.box.division);
}

TEST(Tables, TheDomainIsTheRowOfRoots) {
  const std::vector<BlockRecord> records = Tree(38).records(0, 38);
  double end = 0;
  for (const BlockRecord& one : records) end = std::max(end, one.bounds[1]);
  EXPECT_EQ(Tree::roots_of(38), end);
}

}  // namespace
}  // namespace weir::bench::flash
