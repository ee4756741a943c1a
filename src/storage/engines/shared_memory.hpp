// Memory that processes of one node share: a file in memory without a name (memfd), which one
// process makes and passes to the others by a DescriptorSocket.
//
//   maker    create(); passes file()          others   map() what was passed
//   each     reserve() its own part
//   all      close_file(): the mapping stays
//
// Nothing of it lies in /dev/shm, so its size limit, often 64 MiB in containers, does not matter.
// The pages count as memory of the process's cgroup. Only what was reserved may be touched:
// reserving fails where touching would end the process with SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/status.hpp"
#include "storage/engines/file.hpp"

namespace weir::storage {

class SharedMemory {
 public:
  // Zeroed, of `bytes`, 1 or more. Error `insufficient`: the process may not have so much.
  static Result<SharedMemory> create(std::int64_t bytes);
  // Maps a file() that another process passed, with the size that it was made with.
  static Result<SharedMemory> map(File passed, std::int64_t bytes);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();  // the last process that has it gives its pages back

  // Takes the pages of a part, near the processor that this process runs on. Error `insufficient`:
  // the system has not got them; none is taken then. Before close_file().
  [[nodiscard]] Status reserve(std::int64_t offset, std::int64_t bytes) const;
  // To pass, until close_file().
  [[nodiscard]] const File& file() const { return *file_; }
  void close_file() { file_.reset(); }
  [[nodiscard]] std::byte* data() const { return data_; }
  // From now on this process may only read it.
  [[nodiscard]] Status make_read_only() const;
  // Leaves the mapping for good, for who may still write to it: MPI, the kernel.
  void keep_for_good() { data_ = nullptr; }

 private:
  SharedMemory(File file, std::byte* data, std::size_t bytes)
      : file_(std::move(file)), data_(data), bytes_(bytes) {}

  std::optional<File> file_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace weir::storage
