// Calls open() on every rank, like a program that became parallel before its I/O did.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "workloads/open/shared_file.hpp"

namespace weir::bench::opening {
namespace {

class PosixFile final : public SharedFile {
 public:
  explicit PosixFile(const FileRequest& request) : request_(request) {}
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;
  ~PosixFile() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  Status create(const std::string& path) override { return open_with(path, O_RDWR | O_CREAT); }
  Status open(const std::string& path) override { return open_with(path, O_RDONLY); }

  Status write(const std::byte* piece) override {
    return move("pwrite", [&](std::int64_t done) {
      return ::pwrite(descriptor_, piece + done, static_cast<std::size_t>(left(done)),
                      offset() + done);
    });
  }
  Status read(std::byte* piece) override {
    return move("pread", [&](std::int64_t done) {
      return ::pread(descriptor_, piece + done, static_cast<std::size_t>(left(done)),
                     offset() + done);
    });
  }

  Status close() override {
    if (::close(std::exchange(descriptor_, -1)) == 0) return {};
    return system_failure("close", path_, -1, errno);
  }

  [[nodiscard]] std::vector<OwnName> own_names(const std::string& path) const override {
    return one_name(request_, path);
  }

 private:
  Status open_with(const std::string& path, int flags) {
    path_ = path;
    descriptor_ = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
    return descriptor_ >= 0 ? Status() : system_failure("open", path, -1, errno);
  }
  [[nodiscard]] std::int64_t left(std::int64_t done) const { return request_.options.bytes - done; }
  [[nodiscard]] std::int64_t offset() const { return request_.who.place * request_.options.bytes; }

  template <typename Call>
  Status move(const char* operation, const Call& call) {
    for (std::int64_t done = 0; left(done) > 0;) {
      const ssize_t moved = call(done);
      if (moved > 0) {
        done += moved;
      } else if (moved == 0) {
        Error error = system_failure(operation, path_, offset() + done, EIO);
        error.code = ErrorCode::short_transfer;
        return error;
      } else if (errno != EINTR) {
        return system_failure(operation, path_, offset() + done, errno);
      }
    }
    return {};
  }

  FileRequest request_;
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace

std::unique_ptr<SharedFile> make_posix_file(const FileRequest& request) {
  return std::make_unique<PosixFile>(request);
}

}  // namespace weir::bench::opening
