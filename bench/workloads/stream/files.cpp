#include "workloads/stream/files.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace weir::bench::stream {
namespace {
namespace fs = std::filesystem;
}  // namespace

Result<std::vector<Target>> targets_of(const Options& options) {
  std::vector<Target> targets;
  for (const std::string& name : options.test_files) {
    std::error_code error;
    const fs::path path = fs::absolute(name, error).lexically_normal();
    if (fs::is_directory(path, error)) {
      fs::path directory = path;
      if (!directory.has_filename()) directory = directory.parent_path();
      targets.push_back({directory.string(), ""});
      continue;
    }
    const fs::path directory = path.parent_path();
    if (!fs::is_directory(directory, error)) {
      return invalid_argument(fmt::format(
          "stream: -o {}: directory {} does not exist: create it first, or give another", name,
          directory.string()));
    }
    if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
      return invalid_argument(
          fmt::format("stream: -o {}: this is neither a file nor a directory: give another", name));
    }
    targets.push_back({directory.string(), path.filename().string()});
  }
  return targets;
}

FileNames::FileNames(const Options& options, const Variant& variant, std::vector<Target> targets,
                     std::string test_directory, std::string id)
    : file_per_rank_(variant.file_per_rank),
      unique_directories_(options.unique_directories),
      multi_file_(options.multi_file),
      targets_(std::move(targets)) {
  const bool outlive = options.keep || !options.write;
  for (Target& target : targets_) {
    if (!target.file.empty()) continue;
    target.file = outlive ? "weir-stream-" + variant.slug : "weir-" + id + "-" + variant.slug;
  }
  if (targets_.empty()) {
    targets_.push_back({std::move(test_directory), "weir-" + variant.slug});
  }
}

const Target& FileNames::target(std::int64_t rank) const { return targets_[target_of(rank)]; }

std::size_t FileNames::target_of(std::int64_t rank) const {
  return file_per_rank_ ? static_cast<std::size_t>(rank) % targets_.size() : 0;
}

std::string FileNames::own_directory(std::int64_t rank) const {
  if (!unique_directories_) return {};
  return fmt::format("{}/weir-rank-{:08}", target(rank).directory, rank);
}

std::string FileNames::path(std::int64_t rank, std::int64_t repetition) const {
  const std::string directory = unique_directories_ ? own_directory(rank) : target(rank).directory;
  std::string path = fmt::format("{}/{}", directory, target(rank).file);
  if (file_per_rank_) path += fmt::format(".{:08}", rank);
  if (multi_file_) path += fmt::format(".{}", repetition);
  return path;
}

std::vector<std::string> FileNames::directories() const {
  std::vector<std::string> all;
  all.reserve(targets_.size());
  for (const Target& target : targets_) all.push_back(target.directory);
  return all;
}

}  // namespace weir::bench::stream
