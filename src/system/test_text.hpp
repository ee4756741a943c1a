// Tests read and write small files by these functions.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace weir::storage {

[[nodiscard]] inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Folders of the path that are missing are made.
inline void write_text(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace weir::storage
