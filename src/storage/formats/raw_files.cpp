#include "storage/formats/raw_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "storage/text_file.hpp"

namespace weir::storage {
namespace {

// A process that has all files of a large set open would meet its limit of descriptors.
constexpr std::size_t most_open = 128;

std::int64_t bytes_per_slot(const RawArray& array) {
  if (!array.chunk_extents) return array.shape.elements() * array.type.bytes();
  std::int64_t bytes = array.type.bytes();
  const auto grid = array.grid();
  for (const std::int64_t extent : grid.value().chunk_extents()) bytes *= extent;
  return bytes;
}

// What a data file holds when it is complete.
std::int64_t bytes_of_file(const RawArray& array, std::int64_t number) {
  if (!array.chunk_extents) return array.offset + bytes_per_slot(array);
  const std::int64_t chunks = array.grid().value().chunks();
  const std::int64_t whole = chunks / array.files;
  const bool has_more = chunks % array.files > 0 && array.dealing().number(number, whole) < chunks;
  const std::int64_t slots = has_more ? whole + 1 : whole;
  return array.offset + slots * bytes_per_slot(array);
}

// The files whose sizes are compared with the document: one in each directory, and the last.
std::vector<std::int64_t> looked_at(const RawArray& array) {
  const auto directories = static_cast<std::int64_t>(array.directories.size());
  std::vector<std::int64_t> numbers = {0};
  for (std::int64_t n = 1; n < std::min(directories, array.files); ++n) numbers.push_back(n);
  if (numbers.back() < array.files - 1) numbers.push_back(array.files - 1);
  return numbers;
}

Status write_document(const RawArray& array, const std::string& path) {
  auto file = File::open(path, {.read = false, .write = true, .create = true, .truncate = true});
  if (!file) return file.error();
  std::string text = raw_array_json(array);
  const Slice slice{reinterpret_cast<std::byte*>(text.data()),
                    static_cast<std::int64_t>(text.size())};
  std::int64_t calls = 0;
  if (Status written = write_slices(file.value(), {&slice, 1}, 0, calls); !written.ok()) {
    return written;
  }
  return file.value().close();
}

}  // namespace

Status create_raw_files(const RawArray& array, const std::string& path) {
  if (Status possible = array.check(); !possible.ok()) return possible;
  const std::string document = sidecar_path(path);
  if (::unlink(document.c_str()) != 0 && errno != ENOENT) {
    return system_failure("unlink", document, -1, errno);
  }
  for (std::int64_t number = 0; number < array.files; ++number) {
    const std::string name = data_path(array, path, number);
    auto file = File::open(name, {.read = false, .write = true, .create = true, .truncate = true});
    if (!file) return file.error();
    if (::ftruncate(file.value().descriptor(), bytes_of_file(array, number)) != 0) {
      return system_failure("ftruncate", name, bytes_of_file(array, number), errno);
    }
    if (Status closed = file.value().close(); !closed.ok()) return closed;
  }
  return write_document(array, document);
}

Result<RawArray> open_raw_files(const std::string& path) {
  const std::string document = sidecar_path(path);
  const auto text = read_text_file(document, most_document_bytes);
  if (!text) return text.error();
  auto array = parse_raw_array(text.value(), document);
  if (!array) return array;
  for (const std::int64_t number : looked_at(array.value())) {
    const std::string name = data_path(array.value(), path, number);
    struct stat information {};
    if (::stat(name.c_str(), &information) != 0) return system_failure("stat", name, -1, errno);
    if (!S_ISREG(information.st_mode)) {
      Error error;
      error.code = ErrorCode::corrupt;
      error.file = name;
      error.message = "is no file, as the document of an array tells";
      return error;
    }
    const std::int64_t expected = bytes_of_file(array.value(), number);
    if (information.st_size < expected) {
      Error error;
      error.code = ErrorCode::corrupt;
      error.file = name;
      error.message = fmt::format("the file has {} bytes, its document tells of {}",
                                  std::int64_t{information.st_size}, expected);
      return error;
    }
  }
  return array;
}

RawFiles::RawFiles(RawArray array, std::string path, bool writable)
    : array_(std::move(array)),
      path_(std::move(path)),
      writable_(writable),
      slot_bytes_(bytes_per_slot(array_)) {}

RawFiles::Place RawFiles::place_of_chunk(std::int64_t chunk) const {
  return {array_.dealing().holder(chunk), array_.offset + chunk / array_.files * slot_bytes_};
}

Result<RawFiles::Open*> RawFiles::opened(std::int64_t number) {
  const auto found = open_.find(number);
  if (found != open_.end()) return &found->second;
  if (open_.size() >= most_open) {
    if (Status closed = close(); !closed.ok()) return closed.error();
  }
  auto file = File::open(data_path(array_, path_, number), {.read = true, .write = writable_});
  if (!file) return file.error();
  return &open_.emplace(number, Open{std::move(file).value(), {}}).first->second;
}

Status RawFiles::write(std::int64_t file, std::span<const Slice> slices, std::int64_t offset,
                       FileTraffic& traffic) {
  const auto open = opened(file);
  if (!open) return open.error();
  written_.insert(file);
  for (const Slice& slice : slices) traffic.written += slice.bytes;
  return write_slices(open.value()->file, slices, offset, traffic.calls);
}

Status RawFiles::read(std::int64_t file, std::span<const Slice> slices, std::int64_t offset,
                      FileTraffic& traffic) {
  const auto open = opened(file);
  if (!open) return open.error();
  std::int64_t wanted = 0;
  for (const Slice& slice : slices) wanted += slice.bytes;
  std::int64_t bytes = 0;
  Status status =
      open.value()->reading.read(open.value()->file, slices, offset, bytes, traffic.calls);
  traffic.read += bytes;
  if (status.ok() && bytes < wanted) {
    Error error;
    error.code = ErrorCode::short_transfer;
    error.operation = "read";
    error.file = open.value()->file.path();
    error.offset = offset + bytes;
    error.message = fmt::format("short read: the file ends after {} of {} bytes", bytes, wanted);
    return error;
  }
  return status;
}

bool RawFiles::cold(std::int64_t file) const {
  const auto found = open_.find(file);
  return found != open_.end() && found->second.reading.cold();
}

bool RawFiles::cold() const {
  return std::any_of(open_.begin(), open_.end(),
                     [](const auto& one) { return one.second.reading.cold(); });
}

Status RawFiles::sync() {
  // Files on different storage are on their way together, not one after the other. A hint: what
  // fails here fails below too.
  if (written_.size() > 1) {
    for (const std::int64_t number : written_) {
      if (const auto found = open_.find(number); found != open_.end()) {
        (void)::sync_file_range(found->second.file.descriptor(), 0, 0, SYNC_FILE_RANGE_WRITE);
      }
    }
  }
  // A file that was closed meanwhile is opened again: what is made durable is the file's.
  for (const std::int64_t number : written_) {
    const auto open = opened(number);
    if (!open) return open.error();
    int failed = 0;
    do {
      failed = ::fdatasync(open.value()->file.descriptor());
    } while (failed != 0 && errno == EINTR);
    if (failed != 0) return system_failure("fdatasync", open.value()->file.path(), -1, errno);
  }
  written_.clear();
  return {};
}

Status RawFiles::close() {
  Status first;
  for (auto& [number, open] : open_) {
    Status closed = open.file.close();
    if (first.ok()) first = std::move(closed);
  }
  open_.clear();
  return first;
}

}  // namespace weir::storage
