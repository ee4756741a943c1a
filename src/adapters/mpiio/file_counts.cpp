#include "adapters/mpiio/file_counts.hpp"

#include <unistd.h>

#include <climits>
#include <cstring>

#include "adapters/preloaded/path_hash.hpp"

namespace weir::mpiio {
namespace {

constexpr std::uintptr_t was_used = 1;
constexpr std::size_t places = 64;  // where a handle may be: its place and those behind it

std::size_t place_of(std::uintptr_t handle) {
  return static_cast<std::size_t>((handle >> 4U) * 0x9e3779b97f4a7c15U >> 40U);
}

}  // namespace

FileCounts& Counts::file(const char* path) {
  if (path == nullptr) return no_file_;
  std::string_view given(path);
  if (given.starts_with('/')) return at_absolute(given);
  while (given.starts_with("./")) given.remove_prefix(2);
  std::array<char, PATH_MAX> absolute;  // not initialized: getcwd() writes it
  if (::getcwd(absolute.data(), absolute.size()) == nullptr) return at_absolute(given);
  const std::size_t folder = std::strlen(absolute.data());
  if (folder + 1 + given.size() > absolute.size()) return further_files_;
  absolute[folder] = '/';
  std::memcpy(absolute.data() + folder + 1, given.data(), given.size());
  return at_absolute({absolute.data(), folder + 1 + given.size()});
}

FileCounts& Counts::at_absolute(std::string_view path) {
  const std::uint64_t hash = preloaded::path_hash(path);
  for (std::size_t step = 0; step < slots; ++step) {
    FileCounts& one = files_[(hash + step) % slots];
    std::uint64_t there = one.hash.load(std::memory_order_acquire);
    if (there == 0) {
      if (files_used_.load(relaxed) >= most_files) break;
      if (one.hash.compare_exchange_strong(there, hash, std::memory_order_acq_rel)) {
        const char* const kept = keep(path);
        files_used_.fetch_add(1, relaxed);
        one.path.store(kept, std::memory_order_release);
        there = hash;
      }
    }
    if (there != hash) continue;
    return one;
  }
  return further_files_;
}

const char* Counts::keep(std::string_view path) {
  constexpr const char* no_room = "(a file whose path found no room)";
  const std::size_t at = paths_used_.fetch_add(path.size() + 1, relaxed);
  if (at + path.size() + 1 > path_bytes) return no_room;
  std::memcpy(paths_.data() + at, path.data(), path.size());
  return paths_.data() + at;
}

Counts::OpenFile* Counts::find(std::uintptr_t handle) {
  for (std::size_t step = 0; step < places; ++step) {
    OpenFile& one = open_[(place_of(handle) + step) % handle_slots];
    const std::uintptr_t there = one.handle.load(std::memory_order_acquire);
    if (there == handle) return &one;
    if (there == 0) break;
  }
  return nullptr;
}

Counts::Open Counts::open_file(std::uintptr_t handle) {
  const OpenFile* const found = handle <= was_used ? nullptr : find(handle);
  if (found == nullptr) return {no_file_, nullptr};
  FileCounts* const file = found->file.load(std::memory_order_acquire);
  return {file == nullptr ? no_file_ : *file, found->taken.load(std::memory_order_acquire)};
}

void Counts::set_taken(std::uintptr_t handle, TakenFile* taken) {
  if (OpenFile* const found = find(handle)) found->taken.store(taken, std::memory_order_release);
}

void Counts::set_view(std::uintptr_t handle, RecordedView* view) {
  if (OpenFile* const found = find(handle)) found->view.store(view, std::memory_order_release);
}

RecordedView* Counts::view_of(std::uintptr_t handle) {
  if (handle <= was_used) return nullptr;
  const OpenFile* const found = find(handle);
  return found == nullptr ? nullptr : found->view.load(std::memory_order_acquire);
}

bool Counts::set_handle(std::uintptr_t handle, FileCounts& file) {
  if (handle <= was_used) return false;
  if (OpenFile* const stale = find(handle)) {
    stale->taken.store(nullptr, std::memory_order_release);
    stale->view.store(nullptr, std::memory_order_release);
    stale->file.store(&file, std::memory_order_release);
    return true;
  }
  for (std::size_t step = 0; step < places; ++step) {
    OpenFile& one = open_[(place_of(handle) + step) % handle_slots];
    std::uintptr_t there = one.handle.load(relaxed);
    if (there > was_used) continue;
    if (one.handle.compare_exchange_strong(there, handle, std::memory_order_acq_rel)) {
      one.taken.store(nullptr, std::memory_order_release);
      one.view.store(nullptr, std::memory_order_release);
      one.file.store(&file, std::memory_order_release);
      return true;
    }
  }
  return false;
}

void Counts::forget_handle(std::uintptr_t handle) {
  if (handle <= was_used) return;
  OpenFile* const found = find(handle);
  if (found == nullptr) return;
  found->file.store(nullptr, relaxed);
  found->taken.store(nullptr, relaxed);
  found->view.store(nullptr, relaxed);
  found->handle.store(was_used, std::memory_order_release);
}

Counts& counts() {
  // Zero bytes are valid empty counts. The object has no constructor, since it may be used before
  // any constructor has run. Pages that are never touched take no memory.
  alignas(Counts) static constinit std::array<std::byte, sizeof(Counts)> storage{};
  return *reinterpret_cast<Counts*>(storage.data());
}

}  // namespace weir::mpiio
