// The two files of marks beside the file of a step (share_marks.hpp has their form).
#pragma once

#include <string>

#include "common/status.hpp"
#include "stager/share_marks.hpp"

namespace weir::stager {

class ShareMarkFiles {
 public:
  // `path` is that of the step's file.
  explicit ShareMarkFiles(const std::string& path);

  [[nodiscard]] Result<ShareMarks> read() const;
  // The files are durable when the call returns. The caller holds the lock of the step's file.
  [[nodiscard]] Status write(const ShareMarks& marks) const;

 private:
  std::string shares_path_;
  std::string written_path_;
};

}  // namespace weir::stager
