#include "workloads/probe/target_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "common/clock.hpp"
#include "common/page.hpp"
#include "measurement/page_cache.hpp"
#include "measurement/payload.hpp"

namespace weir::bench::probe {
namespace {

constexpr std::uint64_t payload_seed =
    0x57656972;  // an arbitrary seed; the data must only be incompressible
constexpr std::int64_t word_bytes = 8;
// The number of small operations after which the guard learns the position.
constexpr std::int64_t watched_operations = 64;

}  // namespace

Status TargetFile::make() {
  auto opened = storage::File::open(path_, {.write = true, .create = true, .truncate = true});
  if (!opened) return opened.error();
  file_.emplace(std::move(opened).value());
  auto moved = engine_->open(path_, {.write = true});
  if (!moved) return moved.error();
  moved_ = std::move(moved).value();
  return {};
}

Status TargetFile::remove() {
  file_.reset();
  moved_.reset();
  direct_.reset();
  if (::unlink(path_.c_str()) == 0 || errno == ENOENT) return {};
  return system_failure("unlink", path_, -1, errno);
}

Result<bool> TargetFile::open_direct(std::byte* page) {
  auto opened = engine_->open(path_, {.write = true, .direct = true});
  if (!opened && opened.error().code == ErrorCode::unsupported) return false;
  if (!opened) return opened.error();
  direct_ = std::move(opened).value();
  Times times;
  const Pieces first{.begin = 0, .bytes = page_bytes, .count = 1};
  Status status = move({.direction = Direction::read, .direct = true}, first, page, &times);
  // Some systems open with O_DIRECT and reject the transfer: a device with larger sectors, an
  // overlay.
  if (!status && status.error().system_error == EINVAL) {
    direct_.reset();
    return false;
  }
  if (!status) return status.error();
  return true;
}

Status TargetFile::move(const Pattern& pattern, const Pieces& pieces, std::byte* image,
                        Times* times, std::vector<std::int64_t>* ends) {
  if (ends != nullptr) ends->reserve(static_cast<std::size_t>(pieces.count));
  storage::PieceRequest piece;
  const char* const name = pattern.direction == Direction::read ? "read" : "write";
  Status status;
  times->start_ns = monotonic_ns();
  for (std::int64_t i = 0; status.ok() && i < pieces.count; ++i) {
    const std::int64_t offset = pieces.begin + i * pieces.bytes;
    if (pieces.bytes > page_bytes || i % watched_operations == 0) {
      guard_.entering(name, &path_, offset);
    }
    piece.set(pattern.direction, pattern.direct ? *direct_ : *moved_, offset,
              image + (offset - pieces.image_begin), pieces.bytes, pattern.durability);
    status = move(piece);
    if (ends != nullptr) ends->push_back(piece.times.durable_ns);
  }
  times->end_ns = monotonic_ns();
  guard_.left();
  return status;
}

Status TargetFile::move(storage::PieceRequest& piece) {
  if (Status begun = engine_->submit(piece); !begun) return begun;
  return engine_->wait(piece, storage::no_deadline);  // submit() has moved the data
}

Status TargetFile::read_words(std::int64_t count, std::byte* memory, Times* times) {
  const storage::Slice slice{memory, word_bytes};
  const storage::FileRange word{moved_.get(), 0, {&slice, 1}};
  storage::FileTraffic traffic;
  guard_.entering("read", &path_, 0);
  Status status;
  times->start_ns = monotonic_ns();
  for (std::int64_t i = 0; status.ok() && i < count; ++i) {
    status = engine_->read({&word, 1}, traffic);
  }
  times->end_ns = monotonic_ns();
  guard_.left();
  return status;
}

Status TargetFile::write_and_sync(std::int64_t begin, std::int64_t count, std::byte* memory,
                                  double* sync_seconds) {
  storage::PieceRequest piece;
  Status status;
  std::int64_t sync_ns = 0;
  for (std::int64_t i = 0; status.ok() && i < count; ++i) {
    const std::int64_t offset = begin + i * page_bytes;
    guard_.entering("fsync", &path_, offset);
    piece.set(Direction::write, *moved_, offset, memory, page_bytes, storage::Durability::full);
    status = move(piece);
    sync_ns += piece.times.durable_ns - piece.times.moved_ns;
  }
  guard_.left();
  *sync_seconds = seconds_of(sync_ns);
  return status;
}

Status TargetFile::append_and_sync(std::int64_t count, std::byte* memory, double* sync_seconds) {
  struct stat before {};
  if (::fstat(file_->descriptor(), &before) != 0) return system_failure("stat", path_, -1, errno);
  Status status = write_and_sync(before.st_size, count, memory, sync_seconds);
  if (status && ::ftruncate(file_->descriptor(), before.st_size) != 0) {
    return system_failure("ftruncate", path_, before.st_size, errno);
  }
  return status;
}

Status TargetFile::sync() {
  guard_.entering("fsync", &path_, -1);
  Status status = file_->sync();
  guard_.left();
  return status;
}

Status TargetFile::drop_pages(std::int64_t begin, std::int64_t bytes) {
  return storage::drop_cached_pages(*file_, begin, bytes);
}

std::optional<double> TargetFile::resident(std::int64_t end) const {
  constexpr std::int64_t sample_pages = 256;
  const auto fraction = storage::resident_fraction(*file_, 0, end, sample_pages);
  if (!fraction) return std::nullopt;
  return fraction.value();
}

Status TargetFile::check(const std::byte* image, std::int64_t begin, std::int64_t end) const {
  for (const WrittenContent::Part& part : content_.parts(begin, end)) {
    const PayloadStream stream{
        .seed = payload_seed, .file = number_, .generation = part.generation};
    std::vector<PayloadStream> earlier;
    earlier.reserve(part.generation);
    for (std::uint32_t before = 0; before < part.generation; ++before) {
      earlier.push_back({.seed = payload_seed, .file = number_, .generation = before});
    }
    const std::span words{reinterpret_cast<const std::uint64_t*>(image + part.begin),
                          static_cast<std::size_t>((part.end - part.begin) / word_bytes)};
    const auto wrong =
        check_payload(stream, static_cast<std::uint64_t>(part.begin / word_bytes), words, earlier,
                      static_cast<std::uint64_t>(end / word_bytes), 1);
    if (wrong.empty()) continue;
    Error error;
    error.code = ErrorCode::corrupt;
    error.operation = "read";
    error.file = path_;
    error.offset = static_cast<std::int64_t>(wrong.front().first_byte);
    error.message =
        "the data that was read differs from the data that was written: " + wrong.front().text;
    return error;
  }
  return {};
}

void TargetFile::fill(std::byte* image, std::int64_t begin, std::int64_t bytes,
                      std::uint32_t generation) const {
  const PayloadStream stream{.seed = payload_seed, .file = number_, .generation = generation};
  fill_payload(
      stream, static_cast<std::uint64_t>(begin / word_bytes),
      {reinterpret_cast<std::uint64_t*>(image), static_cast<std::size_t>(bytes / word_bytes)});
}

}  // namespace weir::bench::probe
