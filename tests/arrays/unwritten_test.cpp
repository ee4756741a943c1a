// Arrays that no rank writes in a step: they are named on all ranks, or end the step with an error.
#include <array>
#include <utility>

#include "parallel.hpp"

namespace weir::test {
namespace {

using Names = std::vector<std::string>;

constexpr std::array<std::pair<const char*, const char*>, 4> files = {
    {{"hdf5", "file.h5"}, {"cdf5", "file.nc"}, {"zarr", "file.zarr"}, {"raw", "file.raw"}}};

class Unwritten : public OnRanks {
 protected:
  Unwritten() : session_(MPI_COMM_WORLD, options()) {}

  static weir_session_options options() {
    weir_session_options options{};
    options.ranks_per_node = 2;
    options.deadline_seconds = 60;
    return options;
  }
  [[nodiscard]] static weir_file_options as(const char* format, const char* unwritten = nullptr) {
    weir_file_options options{};
    options.format = format;
    options.unwritten = unwritten;
    return options;
  }
  [[nodiscard]] Array define(File& file, const std::string& name, bool has_steps = true) const {
    weir_define_options given{};
    given.steps = has_steps ? 1 : 0;
    return file.define<double>(name, shape_, given);
  }
  void write(Array& array, double value) const {
    array.write(rows_, std::vector<double>(rows_.elements(), value));
  }
  // By the last rank alone: one element.
  static void write_alone(Array& array) {
    if (rank_of_world() == size_of_world() - 1) {
      array.write_region_independent({{0, 1}, {1, 1}}, std::vector<double>{5});
    }
  }
  // Returns what ending the step throws; "" where it throws nothing.
  static std::string end_of_step(const File& file) {
    try {
      file.end_step();
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), WEIR_E_ARGUMENT);
      return failure.what();
    }
    return {};
  }

  Session session_;
  const Extents shape_ = {2 * size_of_world(), 3};
  const Distribution rows_ = session_.distribution(shape_, "BLOCK, *");
};

TEST_F(Unwritten, ArraysAreNamedOnAllRanks) {
  for (const auto& [format, name] : files) {
    SCOPED_TRACE(format);
    File file = session_.create_file(path(name), as(format));
    Array grid = define(file, "grid", false);
    Array together = define(file, "together");
    Array alone = define(file, "alone");
    const Array nobody = define(file, "nobody");
    const Array other = define(file, "other", false);
    EXPECT_EQ(file.unwritten(), Names());
    file.begin_step();
    write(together, 1);
    write_alone(alone);
    file.end_step();
    EXPECT_EQ(file.unwritten(), (Names{"grid", "nobody", "other"}));
    EXPECT_EQ(weir_file_unwritten_name(file.get(), 3), nullptr);
    EXPECT_EQ(weir_file_unwritten_name(file.get(), -1), nullptr);
    // Arrays without steps are not written any more.
    file.begin_step();
    EXPECT_EQ(file.unwritten(), Names());
    file.end_step();
    EXPECT_EQ(file.unwritten(), (Names{"together", "alone", "nobody"}));
    file.close();
    // The file that is opened again knows nothing of earlier steps.
    File again = session_.open_file(path(name));
    EXPECT_EQ(again.unwritten(), Names());
    again.begin_step();
    for (const char* const one : {"together", "alone", "nobody"}) {
      Array opened = again.array(one);
      write(opened, 2);
    }
    again.end_step();
    EXPECT_EQ(again.unwritten(), Names());
    again.close();
  }
  EXPECT_LT(weir_file_unwritten(nullptr), 0);
  EXPECT_EQ(weir_file_unwritten_name(nullptr, 0), nullptr);
}

TEST_F(Unwritten, ArraysAreAnErrorWhereThatIsAskedFor) {
  for (const auto& [format, name] : files) {
    SCOPED_TRACE(format);
    File file = session_.create_file(path(name), as(format, "error"));
    Array first = define(file, "first");
    Array second = define(file, "second");
    file.begin_step();
    write(first, 1);
    const std::string told = end_of_step(file);
    EXPECT_NE(told.find("step 0 is not committed, because no rank wrote \"second\" in it (1 of 2"),
              std::string::npos)
        << told;
    EXPECT_EQ(file.steps(), 0);
    EXPECT_FALSE(file.in_step());
    EXPECT_THROW((void)Session(MPI_COMM_WORLD).open_file(path(name)), Failure);  // not there
    file.begin_step();
    write(first, 2);
    write_alone(second);
    EXPECT_EQ(end_of_step(file), "");
    file.close();

    weir_file_open_options strict{};
    strict.unwritten = "error";
    File again = session_.open_file(path(name), strict);
    again.begin_step();
    EXPECT_NE(end_of_step(again).find("no rank wrote \"first\" and \"second\" in it (2 of 2"),
              std::string::npos);
    EXPECT_EQ(again.steps(), 1);
    again.close();
    File third = session_.open_file(path(name));
    EXPECT_EQ(third.steps(), 1);
    third.begin_step();
    EXPECT_EQ(end_of_step(third), "");
    third.close();
  }
}

TEST_F(Unwritten, ArraysBeyondTheFirstFewAreCounted) {
  File file = session_.create_file(path("many.raw"), as("raw", "error"));
  std::vector<Array> arrays;
  arrays.reserve(1000);
  for (int n = 0; n < 1000; ++n) arrays.push_back(define(file, "a" + std::to_string(n)));
  file.begin_step();
  write(arrays[2], 1);
  write_alone(arrays[4]);
  const std::string told = end_of_step(file);
  EXPECT_NE(told.find("\"a0\", \"a1\", \"a3\", \"a5\", \"a6\" and 993 more in it (998 of 1000"),
            std::string::npos)
      << told;
  file.close();
}

TEST_F(Unwritten, WordsOfTheOptionAreTwo) {
  try {
    (void)session_.create_file(path("file.raw"), as("raw", "warn"));
    ADD_FAILURE() << "created";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), WEIR_E_ARGUMENT);
    EXPECT_NE(std::string(failure.what()).find("options.unwritten is 'warn': give fill or error"),
              std::string::npos)
        << failure.what();
  }
}

// An array that has no element cannot be written, and one that is asked to is.
TEST_F(Unwritten, ArraysWithoutElementsAreNone) {
  File file = session_.create_file(path("empty.raw"), as("raw", "error"));
  const Array empty = file.define<double>("empty", {0, 3});
  Array full = define(file, "full", false);
  file.begin_step();
  write(full, 1);
  EXPECT_EQ(end_of_step(file), "");
  EXPECT_EQ(file.unwritten(), Names());
  file.close();
}

}  // namespace
}  // namespace weir::test
