// New files get the layout that is asked for, where the file system has layouts: CephFS, in the
// folder WEIR_TEST_STRIPED_FOLDER of the environment (tests/testbed/test_ceph.py). Elsewhere it is
// refused.
#include <sys/xattr.h>

#include <array>
#include <cstdlib>

#include "parallel.hpp"

namespace weir::test {
namespace {

constexpr std::int64_t stripe_bytes = 1 << 20;

class Striping : public OnRanks {
 protected:
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody changes the environment
  Striping() : folder_(std::getenv("WEIR_TEST_STRIPED_FOLDER")) {}

  [[nodiscard]] bool is_here() const { return folder_ != nullptr; }
  [[nodiscard]] std::string striped(const std::string& name) const {
    return std::string(folder_) + "/" + name;
  }
  template <typename Options>
  static Options options() {
    Options wanted{};
    wanted.stripe_count = 2;
    wanted.stripe_bytes = stripe_bytes;
    return wanted;
  }
  static void expect_layout(const std::string& path) {
    std::array<char, 256> text{};
    ASSERT_GT(::getxattr(path.c_str(), "ceph.file.layout", text.data(), text.size() - 1), 0)
        << path;
    EXPECT_NE(
        std::string(text.data()).find("stripe_unit=1048576 stripe_count=2 object_size=4194304"),
        std::string::npos)
        << path << ": " << text.data();
  }

  const Extents shape_ = {64 * size_of_world(), 1024};

 private:
  const char* folder_;
};

TEST_F(Striping, OfAnArrayAloneIsWhatWasAskedFor) {
  if (!is_here()) GTEST_SKIP() << "WEIR_TEST_STRIPED_FOLDER is not set";
  const std::string name = striped("array");
  Session session(MPI_COMM_WORLD);
  for (int time = 0; time < 2; ++time) {
    // The first time there is a file of another layout.
    Array array = time == 0 ? session.create<double>(name, shape_)
                            : session.create<double>(name, shape_, options<weir_array_options>());
    const auto rows = session.distribution(shape_, "BLOCK, *");
    const auto numbers = numbered_part<double>(rows, shape_);
    array.write(rows, numbers);
    std::vector<double> part(rows.elements());
    array.read(rows, part);
    EXPECT_EQ(part, numbers);
    array.close();
  }
  expect_layout(name);
}

TEST_F(Striping, OfFilesOfEveryFormatIsWhatWasAskedFor) {
  if (!is_here()) GTEST_SKIP() << "WEIR_TEST_STRIPED_FOLDER is not set";
  Session session(MPI_COMM_WORLD);
  for (const char* const format : {"cdf5", "hdf5", "raw", "zarr"}) {
    const std::string name = striped(std::string("file.") + format);
    auto wanted = options<weir_file_options>();
    wanted.format = format;
    File file = session.create_file(name, wanted);
    Array array = file.define<double>("a", shape_);
    file.begin_step();
    const auto rows = session.distribution(shape_, "BLOCK, *");
    const auto numbers = numbered_part<double>(rows, shape_);
    array.write(rows, numbers);
    file.end_step();
    file.close();
    meet();
    expect_layout(std::string(format) == "zarr" ? name + "/a/c.0.0" : name);
  }
}

TEST_F(Striping, WhereThereIsNoneIsRefusedByAllRanks) {
  Session session(MPI_COMM_WORLD);
  const Extents shape = {8};
  const auto wanted = options<weir_array_options>();
  weir_array* array = nullptr;
  EXPECT_EQ(weir_array_create(session.get(), path("array").c_str(), 1, shape.data(), "int8",
                              &wanted, &array),
            WEIR_E_UNSUPPORTED);
  const std::string text = weir_last_error();
  EXPECT_NE(text.find("stripe_count 2, stripe_bytes 1048576"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  EXPECT_FALSE(std::filesystem::exists(path("array")));
  // The session goes on.
  EXPECT_EQ(weir_array_create(session.get(), path("array").c_str(), 1, shape.data(), "int8",
                              nullptr, &array),
            0);
}

TEST_F(Striping, NumbersThatCannotBeAndDifferBetweenRanksAreRefused) {
  Session session(MPI_COMM_WORLD);
  const Extents shape = {8};
  weir_array_options wanted{};
  weir_array* array = nullptr;
  const auto create = [&] {
    return weir_array_create(session.get(), path("array").c_str(), 1, shape.data(), "int8", &wanted,
                             &array);
  };
  wanted.stripe_count = -2;
  EXPECT_EQ(create(), WEIR_E_ARGUMENT);
  EXPECT_NE(std::string(weir_last_error()).find("stripe_count is -2"), std::string::npos)
      << weir_last_error();
  wanted.stripe_count = 1 + rank_of_world();
  EXPECT_EQ(create(), WEIR_E_MISMATCH) << weir_last_error();
}

}  // namespace
}  // namespace weir::test
