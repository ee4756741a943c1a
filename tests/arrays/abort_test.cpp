// Steps that are given up or dropped: nothing of them is in the file, now or in the next step, and
// a rank that gives one up alone keeps no other waiting.
#include <algorithm>
#include <array>
#include <filesystem>

#include "parallel.hpp"

namespace weir::test {
namespace {

constexpr double given_up = 99;

struct Layout {
  const char* format = nullptr;
  const char* name = nullptr;
  bool in_chunks = false;
  bool in_shards = false;
  const char* codec = nullptr;
};

constexpr std::array<Layout, 8> layouts = {{{"raw", "dense.raw"},
                                            {"raw", "chunks.raw", true},
                                            {"cdf5", "file.nc"},
                                            {"hdf5", "plain.h5"},
                                            {"hdf5", "encoded.h5", true, false, "fletcher32"},
                                            {"zarr", "plain.zarr", true},
                                            {"zarr", "shards.zarr", true, true},
                                            {"zarr", "encoded.zarr", true, true, "crc32c"}}};

// Says what a call throws, with its code; WEIR_OK where it throws nothing.
struct Told {
  int code = WEIR_OK;
  std::string text;
};

template <typename Call>
Told told_by(const Call& call) {
  try {
    call();
  } catch (const Failure& failure) {
    return {failure.code(), failure.what()};
  }
  return {};
}

class AbortedSteps : public OnRanks {
 protected:
  AbortedSteps() : session_(MPI_COMM_WORLD, options()) {}

  static weir_session_options options() {
    weir_session_options options{};
    options.buffer_bytes = 2048;
    options.ranks_per_node = 2;
    options.deadline_seconds = 60;
    return options;
  }
  [[nodiscard]] static weir_file_options as(const char* format) {
    weir_file_options options{};
    options.format = format;
    return options;
  }
  [[nodiscard]] Array define(File& file, const Layout& layout, const char* name) const {
    weir_define_options stepped{};
    stepped.steps = 1;
    stepped.chunks = layout.in_chunks ? chunks_.data() : nullptr;
    stepped.shards = layout.in_shards ? shards_.data() : nullptr;
    stepped.codec = layout.codec;
    return file.define<double>(name, shape_, stepped);
  }
  [[nodiscard]] std::vector<double> part(double value) const {
    return std::vector<double>(rows_.elements(), value);
  }
  void write_half(Array& array, double value) {
    const Section left{{0, 0}, {shape_[0], 20}, {1, 1}};
    session_.write_many({Outgoing(array, rows_, part(value), {}, left)});
  }
  // Names below the test's folder with their lengths; the same on every rank.
  [[nodiscard]] std::string on_disk() const {
    meet();
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path(""))) {
      const bool is_lock = entry.path().extension() == ".weir_lock";
      if (is_lock || !entry.is_regular_file()) continue;
      found.push_back(entry.path().string() + " " + std::to_string(entry.file_size()) + "\n");
    }
    meet();
    std::sort(found.begin(), found.end());
    std::string all;
    for (const std::string& one : found) all += one;
    return all;
  }

  Session session_;
  const Extents shape_ = {3 * size_of_world(), 40};
  const Extents chunks_ = {2, 20};
  const Extents shards_ = {4, 40};
  const Distribution rows_ = session_.distribution(shape_, "BLOCK, *");
};

TEST_F(AbortedSteps, StepsOfRanksAreStoredWhenTheyEnd) {
  const Layout& layout = layouts.front();
  File file = session_.create_file(path("stored"), as(layout.format));
  Array first = define(file, layout, "first");
  file.wait_for_step(0);  // no step has ended
  EXPECT_TRUE(file.is_step_stored());
  file.begin_step();
  first.write(rows_, part(1));
  EXPECT_THROW(file.wait_for_step(1), Failure);  // this step has not ended
  EXPECT_THROW(static_cast<void>(file.is_step_stored()), Failure);
  file.end_step();
  file.wait_for_step(0);
  EXPECT_TRUE(file.is_step_stored());
  EXPECT_THROW(file.wait_for_step(-1), Failure);
  file.close();
}

TEST_F(AbortedSteps, AreNeitherInTheFileNorInTheNextStep) {
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.name);
    const std::string name = path(layout.name);
    File file = session_.create_file(name, as(layout.format));
    Array first = define(file, layout, "first");
    Array second = define(file, layout, "second");
    file.begin_step();
    first.write(rows_, part(1));
    second.write(rows_, part(1));
    file.end_step();
    const std::string before = on_disk();
    for (int time = 0; time < 2; ++time) {
      file.begin_step();
      EXPECT_TRUE(file.in_step());
      first.write(rows_, part(given_up));
      second.write(rows_, part(given_up));
      file.abort_step();
      EXPECT_FALSE(file.in_step());
      EXPECT_EQ(file.steps(), 1);
      EXPECT_EQ(on_disk(), before);
      std::vector<double> found(rows_.elements());
      first.read(rows_, found);
      EXPECT_EQ(found, part(1));
    }
    // One array is written in part, and the other one not at all.
    file.begin_step();
    write_half(first, 2);
    file.end_step();
    EXPECT_EQ(file.steps(), 2);
    file.close();

    Session reader(MPI_COMM_WORLD);
    const auto rows = reader.distribution(shape_, "BLOCK, *");
    File again = reader.open_file(name);
    ASSERT_EQ(again.steps(), 2);
    for (const char* const array : {"first", "second"}) {
      std::vector<double> found(rows.elements());
      again.select_step(0);
      again.array(array).read(rows, found);
      EXPECT_EQ(found, part(1)) << array;
      again.select_step(1);
      again.array(array).read(rows, found);
      EXPECT_EQ(std::count(found.begin(), found.end(), given_up), 0) << array;
      const auto written = std::count(found.begin(), found.end(), 2);
      EXPECT_EQ(written, array == std::string("first") ? std::ssize(found) / 2 : 0) << array;
    }
    again.close();
  }
}

TEST_F(AbortedSteps, OfANewFileLeaveADefinition) {
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.name);
    const std::string name = path(layout.name);
    const std::string before = on_disk();
    File file = session_.create_file(name, as(layout.format));
    Array first = define(file, layout, "first");
    file.begin_step();
    first.write(rows_, part(given_up));
    file.abort_step("nothing has changed");
    EXPECT_EQ(on_disk(), before);
    EXPECT_EQ(file.steps(), 0);
    EXPECT_EQ(told_by([&] { first.write(rows_, part(1)); }).code, WEIR_E_ARGUMENT);
    Array second = define(file, layout, "second");
    file.begin_step();
    write_half(first, 1);
    second.write(rows_, part(2));
    file.end_step();
    file.close();
    File again = session_.open_file(name);
    std::vector<double> found(rows_.elements());
    again.array("first").read(rows_, found);
    EXPECT_EQ(std::count(found.begin(), found.end(), given_up), 0);
    EXPECT_EQ(std::count(found.begin(), found.end(), 1), std::ssize(found) / 2);
    again.array("second").read(rows_, found);
    EXPECT_EQ(found, part(2));
    again.close();
  }
}

TEST_F(AbortedSteps, AreToldToRanksThatDoSomethingElse) {
  const int last = size_of_world() - 1;
  File file = session_.create_file(path("file.nc"), as("cdf5"));
  Array array = define(file, layouts[2], "a");
  const std::string why = "rank " + std::to_string(last) +
                          ": weir_file_step_abort: this rank has " + "given up step 0 of ";
  // The others write, end the step, begin several requests, or are refused what they passed.
  for (const std::string others : {"write", "end", "requests", "mistake"}) {
    SCOPED_TRACE(others);
    file.begin_step();
    array.write(rows_, part(given_up));
    if (rank_of_world() == last) {
      file.abort_step("a negative density");
    } else if (others == "requests") {
      const auto mine = part(given_up);
      auto one = session_.write_begin({Outgoing(array, rows_, mine)});
      auto other = session_.write_begin({Outgoing(array, rows_, mine)});
      EXPECT_EQ(told_by([&] { one.wait(); }).code, WEIR_E_ABORTED);
      EXPECT_EQ(told_by([&] { other.wait(); }).code, WEIR_E_ABORTED);
      file.abort_step();
    } else {
      const Told told = told_by([&] {
        if (others == "end") file.end_step();
        if (others == "write") array.write(rows_, part(given_up));
        if (others == "mistake") array.write(rows_, std::vector<double>(3));
      });
      if (others == "mistake") {
        EXPECT_EQ(told.code, WEIR_E_ARGUMENT) << told.text;
      } else {
        EXPECT_EQ(told.code, WEIR_E_ABORTED) << told.text;
        EXPECT_NE(told.text.find(why), std::string::npos) << told.text;
        EXPECT_NE(told.text.find("a negative density"), std::string::npos) << told.text;
      }
      EXPECT_TRUE(file.in_step());
      file.abort_step();
    }
    EXPECT_FALSE(file.in_step());
    EXPECT_EQ(file.steps(), 0);
  }
  file.begin_step();
  array.write(rows_, part(1));
  file.end_step();
  std::vector<double> found(rows_.elements());
  array.read(rows_, found);
  EXPECT_EQ(found, part(1));
  file.close();
}

TEST_F(AbortedSteps, AreRefusedWhereNoStepHasBegun) {
  File file = session_.create_file(path("file.h5"), as("hdf5"));
  Array array = define(file, layouts[3], "a");
  for (int step = 0; step < 2; ++step) {
    const Told told = told_by([&] { file.abort_step(); });
    EXPECT_EQ(told.code, WEIR_E_ARGUMENT);
    EXPECT_NE(told.text.find("no step"), std::string::npos) << told.text;
    file.begin_step();
    array.write(rows_, part(step));
    file.end_step();
  }
  EXPECT_EQ(file.steps(), 2);
  file.close();
  EXPECT_LT(weir_file_step_abort(nullptr, nullptr), 0);
  EXPECT_LT(weir_file_in_step(nullptr), 0);
}

class DroppedSteps : public AbortedSteps {
 protected:
  void expect_steps(const std::string& name, const std::vector<double>& values) {
    Session reader(MPI_COMM_WORLD);
    const auto rows = reader.distribution(shape_, "BLOCK, *");
    File file = reader.open_file(name);
    ASSERT_EQ(file.steps(), std::ssize(values));
    for (std::size_t step = 0; step < values.size(); ++step) {
      std::vector<double> found(rows.elements());
      file.select_step(static_cast<std::int64_t>(step));
      file.array("a").read(rows, found);
      EXPECT_EQ(found, part(values[step])) << "step " << step;
    }
    file.close();
  }
};

TEST_F(DroppedSteps, AreGoneAndOthersTakeTheirPlace) {
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.name);
    const std::string name = path(layout.name);
    weir_file_options options = as(layout.format);
    if (layout.codec == nullptr) options.checksum = "crc32c";
    File file = session_.create_file(name, options);
    Array array = define(file, layout, "a");
    for (int step = 0; step < 5; ++step) {
      file.begin_step();
      array.write(rows_, part(step));
      file.end_step();
    }
    const auto expect_here = [&](const std::vector<double>& values) {
      ASSERT_EQ(file.steps(), std::ssize(values));
      for (std::size_t step = 0; step < values.size(); ++step) {
        std::vector<double> found(rows_.elements());
        file.select_step(static_cast<std::int64_t>(step));
        array.read(rows_, found);
        EXPECT_EQ(found, part(values[step])) << "step " << step;
      }
    };
    file.drop_steps(5);
    expect_here({0, 1, 2, 3, 4});
    file.drop_steps(3);
    expect_here({0, 1, 2});
    EXPECT_EQ(told_by([&] { file.select_step(3); }).code, WEIR_E_ARGUMENT);
    expect_steps(name, {0, 1, 2});
    file.begin_step();
    array.write(rows_, part(10));
    file.end_step();
    expect_here({0, 1, 2, 10});
    expect_steps(name, {0, 1, 2, 10});
    file.close();
    // By a run that starts again, down to no step at all.
    File again = session_.open_file(name);
    Array opened = again.array("a");
    again.drop_steps(1);
    again.drop_steps(0);
    EXPECT_EQ(again.steps(), 0);
    again.begin_step();
    write_half(opened, 20);
    again.end_step();
    std::vector<double> found(rows_.elements());
    opened.read(rows_, found);
    EXPECT_EQ(std::count(found.begin(), found.end(), 20), std::ssize(found) / 2);
    EXPECT_EQ(std::count(found.begin(), found.end(), 0), std::ssize(found) / 2);
    again.close();
  }
}

// Ranks have their files open from writing them, and would write into files without a name.
TEST_F(DroppedSteps, AreWrittenAgainIntoFilesOfTheirOwn) {
  for (const Layout& layout : layouts) {
    SCOPED_TRACE(layout.name);
    File file = session_.create_file(path(layout.name), as(layout.format));
    Array array = define(file, layout, "a");
    for (const int step : {0, 1, 2, 1, 2}) {
      if (file.steps() == 3) file.drop_steps(1);
      file.begin_step();
      array.write(rows_, part(10 * step));
      file.end_step();
    }
    file.close();
    expect_steps(path(layout.name), {0, 10, 20});
  }
}

TEST_F(DroppedSteps, AreRefusedWhereThereAreNone) {
  File file = session_.create_file(path("file.nc"), as("cdf5"));
  Array array = define(file, layouts[2], "a");
  EXPECT_EQ(told_by([&] { file.drop_steps(0); }).code, WEIR_E_ARGUMENT);
  file.begin_step();
  array.write(rows_, part(1));
  EXPECT_EQ(told_by([&] { file.drop_steps(0); }).code, WEIR_E_ARGUMENT);
  file.end_step();
  for (const std::int64_t steps : {-1, 2}) {
    const Told told = told_by([&] { file.drop_steps(steps); });
    EXPECT_EQ(told.code, WEIR_E_ARGUMENT);
    EXPECT_NE(told.text.find("give 0 to 1"), std::string::npos) << told.text;
  }
  weir_file_open_options to_read{};
  to_read.read_only = 1;
  File reading = session_.open_file(path("file.nc"), to_read);
  EXPECT_EQ(told_by([&] { reading.drop_steps(0); }).code, WEIR_E_ARGUMENT);
  // The lock is the other one's.
  File second = session_.open_file(path("file.nc"));
  EXPECT_NE(told_by([&] { second.drop_steps(0); }).code, WEIR_OK);
  second.close();
  reading.close();
  file.close();
  EXPECT_LT(weir_file_drop_steps(nullptr, 0), 0);
}

}  // namespace
}  // namespace weir::test
