// What the tests on several ranks share: GoogleTest on every rank, a folder for all, and a session.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>
#include <weir/weir.hpp>

namespace weir::test {

inline int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline int size_of_world() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// The folder in which main() makes one folder per test; the same on every rank.
inline std::filesystem::path& folder_of_tests() {
  static std::filesystem::path folder;
  return folder;
}

class OnRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = folder_of_tests() / (std::string(test->test_suite_name()) + "." + test->name() + "." +
                                   std::to_string(size_of_world()));
    if (rank_of_world() == 0) {
      std::filesystem::remove_all(folder_);
      std::filesystem::create_directories(folder_);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_of_world() == 0) std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

// What a preloaded library (tests/failure/faulty_io.c) spoils, until the end of the scope. No other
// thread looks at the environment meanwhile.
class Fault {
 public:
  // NOLINTBEGIN(concurrency-mt-unsafe)
  explicit Fault(const std::string& fault) {
    static int tries = 0;
    setenv("WEIR_FAULT", (fault + ",try=" + std::to_string(++tries)).c_str(), 1);
  }
  ~Fault() { setenv("WEIR_FAULT", "", 1); }
  // NOLINTEND(concurrency-mt-unsafe)
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
};

// The number of an element in row-major order.
inline std::int64_t number_of(const Extents& index, const Extents& shape) {
  std::int64_t number = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) number = number * shape[d] + index[d];
  return number;
}

inline std::int64_t elements_of(const Extents& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

// The index of the element of this number in row-major order.
inline Extents index_of(std::int64_t number, const Extents& shape) {
  Extents index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = number % shape[d];
    number /= shape[d];
  }
  return index;
}

// A rank's part, piece after piece, with each element's number in the array, plus 1, as its value.
template <typename Element>
std::vector<Element> numbered_part(const Distribution& distribution, const Extents& shape) {
  std::vector<Element> part;
  for (std::int64_t piece = 0; piece < distribution.pieces(); ++piece) {
    const Extents extents = distribution.shape(piece);
    for (std::int64_t k = 0; k < elements_of(extents); ++k) {
      const Extents global = distribution.global_index(index_of(k, extents), piece);
      part.push_back(static_cast<Element>(number_of(global, shape) + 1));
    }
  }
  return part;
}

template <typename Element>
std::vector<Element> content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<Element> elements(bytes.size() / sizeof(Element));
  std::copy_n(bytes.data(), elements.size() * sizeof(Element),
              reinterpret_cast<char*>(elements.data()));
  return elements;
}

}  // namespace weir::test
