#include "adapters/calls/call_counts.hpp"

#include <algorithm>
#include <cstring>

#include "adapters/calls/counted_path.hpp"
#include "adapters/preloaded/path_hash.hpp"

namespace weir::calls {
bool CallCounts::counts(std::string_view absolute_path) { return is_counted_path(absolute_path); }

FileCounts* CallCounts::file(std::string_view absolute_path) {
  const std::uint64_t hash = preloaded::path_hash(absolute_path);
  for (std::size_t step = 0; step < slots; ++step) {
    FileCounts& one = files_[(hash + step) % slots];
    std::uint64_t there = one.hash.load(std::memory_order_acquire);
    if (there == 0) {
      if (files_used_.load(relaxed) >= most_files) return nullptr;
      if (one.hash.compare_exchange_strong(there, hash, std::memory_order_acq_rel)) {
        files_used_.fetch_add(1, relaxed);
        one.path.store(keep(absolute_path), std::memory_order_release);
        return &one;
      }
    }
    if (there == hash) return &one;  // collision: once in 10^10 runs with this many paths
  }
  return nullptr;
}

const char* CallCounts::keep(std::string_view path) {
  const std::size_t at = paths_used_.fetch_add(path.size() + 1, relaxed);
  if (at + path.size() + 1 > path_bytes) return nullptr;
  std::memcpy(paths_.data() + at, path.data(), path.size());
  return paths_.data() + at;
}

void CallCounts::add(Operation operation, FileCounts* file, std::int64_t start_ns,
                     std::int64_t end_ns) {
  const auto which = static_cast<std::size_t>(operation);
  totals_.count[which].fetch_add(1, relaxed);
  totals_.ns[which].fetch_add(end_ns - start_ns, relaxed);
  if (file == nullptr) {
    totals_.left_out.fetch_add(1, relaxed);
    return;
  }
  file->count[which].fetch_add(1, relaxed);
  std::int64_t none = 0;
  file->first_ns.compare_exchange_strong(none, start_ns, relaxed);
  file->last_ns.store(end_ns, relaxed);
}

void CallCounts::add_bytes(Operation operation, FileCounts* file, std::int64_t bytes) {
  if (file == nullptr) return;  // a terminal, pipe or socket
  const auto which = static_cast<std::size_t>(operation);
  totals_.count[which].fetch_add(1, relaxed);
  file->count[which].fetch_add(1, relaxed);
  if (bytes <= 0) return;
  (operation == Operation::write ? file->bytes_written : file->bytes_read)
      .fetch_add(static_cast<std::uint64_t>(bytes), relaxed);
}

void CallCounts::made(FileCounts* file, std::string_view absolute_path) {
  if (file != nullptr && file->created.exchange(true, relaxed)) return;  // already counted
  const std::size_t slash = absolute_path.rfind('/');
  if (slash == std::string_view::npos) return;
  FileCounts* const folder = this->file(absolute_path.substr(0, std::max<std::size_t>(slash, 1)));
  if (folder != nullptr) folder->made_inside.fetch_add(1, relaxed);
}

FileCounts* CallCounts::of_descriptor(int descriptor) const {
  if (descriptor < 0 || static_cast<std::size_t>(descriptor) >= most_descriptors) return nullptr;
  return descriptors_[static_cast<std::size_t>(descriptor)].load(relaxed);
}

void CallCounts::set_descriptor(int descriptor, FileCounts* file) {
  if (descriptor < 0 || static_cast<std::size_t>(descriptor) >= most_descriptors) return;
  descriptors_[static_cast<std::size_t>(descriptor)].store(file, relaxed);
}

void CallCounts::clear_counts() {
  for (FileCounts& one : files_) {
    if (one.hash.load(relaxed) == 0) continue;
    for (auto& count : one.count) count.store(0, relaxed);
    one.written.store(false, relaxed);
    one.created.store(false, relaxed);
    one.bytes_read.store(0, relaxed);
    one.bytes_written.store(0, relaxed);
    one.first_ns.store(0, relaxed);
    one.last_ns.store(0, relaxed);
    one.made_inside.store(0, relaxed);
  }
  for (auto& count : totals_.count) count.store(0, relaxed);
  for (auto& ns : totals_.ns) ns.store(0, relaxed);
  totals_.left_out.store(0, relaxed);
}

CallCounts& call_counts() {
  // Zero bytes are valid empty counts. The object has no constructor, since it is used before any
  // constructor has run. Pages that are never touched take no memory.
  alignas(CallCounts) static constinit std::array<std::byte, sizeof(CallCounts)> storage{};
  return *reinterpret_cast<CallCounts*>(storage.data());
}

}  // namespace weir::calls
