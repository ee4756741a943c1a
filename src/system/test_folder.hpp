// A folder for the files of one test. Its destructor removes it with its contents.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX

#include <filesystem>
#include <stdexcept>
#include <string>

namespace weir::storage {

class TestFolder {
 public:
  // Below `parent`, or where tests usually write.
  explicit TestFolder(const std::string& parent = testing::TempDir()) {
    std::string pattern = (std::filesystem::path(parent) / "weir-storage-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder for the test in " + parent);
    }
    folder_ = pattern;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;  // a folder left behind fails no test
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace weir::storage
