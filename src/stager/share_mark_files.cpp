#include "stager/share_mark_files.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "formats/writer_lock.hpp"
#include "system/file_replacement.hpp"
#include "system/incomplete.hpp"
#include "system/text_file.hpp"

namespace weir::stager {
namespace {

constexpr std::size_t most_mark_bytes = std::size_t{4} << 20;  // of each file

Result<std::string> text_at(const std::string& path) {
  if (!storage::is_on_disk(path)) return std::string();
  return storage::read_text_file(path, most_mark_bytes);
}

Status write_text(const std::string& path, std::string text) {
  const auto now = text_at(path);
  if (!now) return now.error();
  if (now.value() == text) return {};
  if (!text.empty()) {
    Status done = storage::replace_file(path, std::move(text), true);
    if (!done.ok()) return done;
  } else if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return system_failure("unlink", path, -1, errno);
  }
  return storage::sync_folder(storage::folder_of(path));
}

}  // namespace

ShareMarkFiles::ShareMarkFiles(const std::string& path)
    : shares_path_(storage::committed_path(path) + ".weir_shares"),
      written_path_(storage::written_shares_path(path)) {}

Result<ShareMarks> ShareMarkFiles::read() const {
  const auto shares = text_at(shares_path_);
  if (!shares) return shares.error();
  const auto written = text_at(written_path_);
  if (!written) return written.error();
  return ShareMarks(shares.value(), written.value());
}

Status ShareMarkFiles::write(const ShareMarks& marks) const {
  Status done = write_text(written_path_, marks.written());
  return done.ok() ? write_text(shares_path_, marks.shares()) : done;
}

}  // namespace weir::stager
