// GoogleTest on several ranks: every rank runs every test, in a folder that all of them share, and
// the job fails where a test fails on any rank.
//
// The ranks meet at the end of a test. One that left a test alone would keep the others waiting in
// their next collective call, until the launcher ends the job. So a test may end early, by ASSERT_,
// only on what all ranks know (`is_ok_on_all_ranks`), and expects the rest, by EXPECT_.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

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

// Returns the folder in which each test gets one of its own; it is the same on every rank.
[[nodiscard]] const std::filesystem::path& folder_of_tests();

// Returns when every rank has called it. Unlike in MPI_Barrier, which computes all the time, a rank
// that waits for long leaves the processors to the others. The launcher ends a wait that lasts.
void meet();

// Runs the tests of a program that has started MPI: PROGRAM FOLDER [GoogleTest's options]. It ends
// MPI and returns the exit status, which is the same on all ranks.
[[nodiscard]] int run_tests(int argc, char** argv);

// Gives each test a folder that is empty when the test begins and is removed after it.
class OnRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(test->test_suite_name()) + "." + test->name() + "." +
                       std::to_string(size_of_world());
    std::replace(name.begin(), name.end(), '/', '-');  // of a test with parameters
    folder_ = folder_of_tests() / name;
    if (rank_of_world() == 0) {
      std::filesystem::remove_all(folder_);
      std::filesystem::create_directories(folder_);
    }
    meet();
  }
  void TearDown() override {
    meet();
    if (rank_of_world() == 0) std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::string folder() const { return folder_; }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

// `outcome` is a Status or a Result; a failed one is shown with its error's text.
template <typename Outcome>
[[nodiscard]] ::testing::AssertionResult is_ok(const Outcome& outcome) {
  if (outcome.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << outcome.error().text();
}

// Collective, and so is each function below. Every rank returns whether all ranks say so.
[[nodiscard]] bool holds_on_all_ranks(bool holds);

template <typename Outcome>
[[nodiscard]] ::testing::AssertionResult is_ok_on_all_ranks(const Outcome& outcome) {
  const bool all = holds_on_all_ranks(outcome.ok());
  if (!all && outcome.ok()) return ::testing::AssertionFailure() << "another rank has failed";
  return is_ok(outcome);
}

// Returns whether this rank's text is that of rank 0.
[[nodiscard]] ::testing::AssertionResult is_same_on_all_ranks(const std::string& text);

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
