// A folder outside which a process writes nothing, for a process that others tell where to write.
//
// The system follows the path from the folder on, and refuses to leave it: by `..`, by an absolute
// path, or by symbolic links (openat2() with RESOLVE_BENEATH; where the system has no openat2(),
// the real path is compared). What does not exist yet has to be made of plain names behind a folder
// that exists. The check is made before the path is opened, so it does not hold against who can
// change folders below the root at the same moment: these belong to who may write there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/status.hpp"
#include "system/file.hpp"

namespace weir::storage {

class RootFolder {
 public:
  // Says how paths are followed; `real_paths` alone is for systems without openat2().
  enum class Way : std::uint8_t { beneath, real_paths };

  // Takes an existing folder; symbolic links to it are followed now, once. Fails with
  // ErrorCode::invalid_argument if it is none.
  static Result<RootFolder> open(const std::string& path, Way way = Way::beneath);

  // Fails with ErrorCode::invalid_argument unless an absolute path begins with the folder's path,
  // as it was given or as it is, and lies below it.
  [[nodiscard]] Status check(const std::string& path) const;
  [[nodiscard]] const std::string& path() const { return given_; }

 private:
  RootFolder(File folder, std::string given, std::string real, Way way)
      : folder_(std::move(folder)), given_(std::move(given)), real_(std::move(real)), way_(way) {}
  [[nodiscard]] Error outside(const std::string& path) const;
  // Returns 0 if something is there and below the folder, or an error number; EXDEV: it is outside.
  [[nodiscard]] int look(const std::string& relative) const;
  [[nodiscard]] int look_at_real_path(const std::string& relative) const;
  // Returns whether a symbolic link is there, which leads to nothing.
  [[nodiscard]] bool is_link(const std::string& relative) const;

  File folder_;
  std::string given_;
  std::string real_;
  Way way_;
};

}  // namespace weir::storage
