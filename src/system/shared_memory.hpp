// Memory that processes of one node share: an unnamed file in memory (memfd), which one process
// creates and passes to the others by a DescriptorSocket. The steps are:
//
// clang-format off
//   creator  create(), then passes file()
//   others   map() the file that was passed
//   all      reserve() their own parts
//   all      close_file(); the mapping stays
// clang-format on
//
// The memory does not lie in /dev/shm, so the size limit of /dev/shm, often 64 MiB in containers,
// does not apply. The pages count as memory of the process's cgroup. Only reserved parts may be
// accessed: reserve() fails if access would end the process with SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/status.hpp"
#include "system/file.hpp"

namespace weir::storage {

class SharedMemory {
 public:
  // Creates zeroed memory of `bytes` >= 1. Fails with `insufficient` if the process may not have so
  // much memory.
  static Result<SharedMemory> create(std::int64_t bytes);
  // Maps a file() that another process passed. `bytes` is the size with which it was created.
  static Result<SharedMemory> map(File passed, std::int64_t bytes);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();  // the system frees the pages when the last process releases the memory

  // Allocates the pages of a part close to the processor on which this process runs. Fails with
  // `insufficient` if the system does not have enough pages; then none is allocated. Must be called
  // before close_file().
  [[nodiscard]] Status reserve(std::int64_t offset, std::int64_t bytes) const;
  // Maps the pages of a part into this process by one call, which is quicker than a page fault for
  // each page. Has no effect on kernels before Linux 5.14.
  void map_pages(std::int64_t offset, std::int64_t bytes) const;
  // Returns the file to be passed; valid until close_file().
  [[nodiscard]] const File& file() const { return *file_; }
  void close_file() { file_.reset(); }
  [[nodiscard]] std::byte* data() const { return data_; }
  // Makes the memory read-only for this process.
  [[nodiscard]] Status make_read_only() const;
  // Keeps the mapping until the process ends, because MPI or the kernel may still write to it.
  void keep_for_good() { data_ = nullptr; }

 private:
  SharedMemory(File file, std::byte* data, std::size_t bytes)
      : file_(std::move(file)), data_(data), bytes_(bytes) {}

  std::optional<File> file_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace weir::storage
