#include "formats/hdf5/write_driver.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <new>
#include <utility>

#include "common/page.hpp"
#include "stored/file_description.hpp"
#include "system/file.hpp"
#include "system/uninterrupted.hpp"

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

namespace weir::storage {
namespace {

// Data that the access properties pass to the driver's open(). The library copies them.
struct DriverInformation {
  Hdf5Writing* writing = nullptr;
};

// Blocks begin at multiples of this many bytes.
constexpr std::int64_t granule = 8;

// The library accesses the first member.
struct DriverFile {
  H5FD_t base{};
  Hdf5Writing* writing = nullptr;
};

Hdf5Writing& writing_of(const H5FD_t* file) {
  return *reinterpret_cast<const DriverFile*>(file)->writing;
}

extern "C" {

H5FD_t* weir_hdf5_open(const char* name, unsigned flags, hid_t access, haddr_t /*most*/) {
  const auto* const information = static_cast<const DriverInformation*>(H5Pget_driver_info(access));
  if (information == nullptr) return nullptr;
  if (!information->writing->open(name, (flags & H5F_ACC_CREAT) != 0,
                                  (flags & H5F_ACC_TRUNC) != 0)) {
    return nullptr;
  }
  auto* const file = new (std::nothrow) DriverFile{};
  if (file == nullptr) return nullptr;
  file->writing = information->writing;
  return &file->base;
}

herr_t weir_hdf5_close(H5FD_t* file) {
  auto* const ours = reinterpret_cast<DriverFile*>(file);
  ours->writing->close();
  delete ours;
  return 0;
}

// Disables the features that combine small blocks and writes, so that the driver sees each one.
herr_t weir_hdf5_query(const H5FD_t* /*file*/, unsigned long* flags) {
  if (flags != nullptr) *flags = 0;
  return 0;
}

haddr_t weir_hdf5_alloc(H5FD_t* file, H5FD_mem_t type, hid_t /*transfer*/, hsize_t size) {
  if (size > static_cast<hsize_t>(INT64_MAX)) return HADDR_UNDEF;
  const auto bytes = static_cast<std::int64_t>(size);
  Hdf5Writing& writing = writing_of(file);
  const std::int64_t place = type == H5FD_MEM_DRAW
                                 ? writing.allocate_data(bytes)
                                 : writing.allocate_metadata(bytes, type == H5FD_MEM_OHDR);
  return place < 0 ? HADDR_UNDEF : static_cast<haddr_t>(place);
}

haddr_t weir_hdf5_get_end(const H5FD_t* file, H5FD_mem_t /*type*/) {
  return static_cast<haddr_t>(writing_of(file).end());
}

herr_t weir_hdf5_set_end(H5FD_t* file, H5FD_mem_t /*type*/, haddr_t address) {
  if (address > static_cast<haddr_t>(INT64_MAX)) return -1;
  writing_of(file).set_end(static_cast<std::int64_t>(address));
  return 0;
}

haddr_t weir_hdf5_length(const H5FD_t* file, H5FD_mem_t /*type*/) {
  const std::int64_t length = writing_of(file).length();
  return length < 0 ? HADDR_UNDEF : static_cast<haddr_t>(length);
}

herr_t weir_hdf5_read(H5FD_t* file, H5FD_mem_t type, hid_t /*transfer*/, haddr_t address,
                      std::size_t size, void* bytes) {
  if (address > static_cast<haddr_t>(INT64_MAX)) return -1;
  if (type == H5FD_MEM_DRAW &&
      writing_of(file).looks_up(static_cast<std::int64_t>(address), size)) {
    return 0;
  }
  const bool read = writing_of(file).read(static_cast<std::int64_t>(address),
                                          static_cast<std::byte*>(bytes), size);
  return read ? 0 : -1;
}

herr_t weir_hdf5_write(H5FD_t* file, H5FD_mem_t type, hid_t /*transfer*/, haddr_t address,
                       std::size_t size, const void* bytes) {
  if (address > static_cast<haddr_t>(INT64_MAX)) return -1;
  if (type == H5FD_MEM_DRAW && writing_of(file).drops_data(static_cast<std::int64_t>(address))) {
    return 0;
  }
  writing_of(file).write(static_cast<std::int64_t>(address), static_cast<const std::byte*>(bytes),
                         size);
  return 0;
}

herr_t weir_hdf5_truncate(H5FD_t* file, hid_t /*transfer*/, hbool_t /*closing*/) {
  writing_of(file).set_length();
  return 0;
}

}  // extern "C"

H5FD_class_t driver_class() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 14, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(512);  // one of the numbers that are free for any
                                                        // use
#endif
  driver.name = "weir";
  driver.maxaddr = static_cast<haddr_t>(INT64_MAX);
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(DriverInformation);
  driver.open = weir_hdf5_open;
  driver.close = weir_hdf5_close;
  driver.query = weir_hdf5_query;
  driver.alloc = weir_hdf5_alloc;
  driver.get_eoa = weir_hdf5_get_end;
  driver.set_eoa = weir_hdf5_set_end;
  driver.get_eof = weir_hdf5_length;
  driver.read = weir_hdf5_read;
  driver.write = weir_hdf5_write;
  driver.truncate = weir_hdf5_truncate;
  const H5FD_mem_t lists[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(lists), std::end(lists), std::begin(driver.fl_map));
  return driver;
}

std::int64_t round_up(std::int64_t offset, std::int64_t to) {
  if (offset > INT64_MAX - to) return -1;
  return (offset + to - 1) / to * to;
}

void enter_block(Hdf5Blocks& blocks, std::int64_t offset, const std::byte* bytes,
                 std::size_t count) {
  // The parts of older blocks outside this block are kept as separate blocks.
  const std::int64_t end = offset + static_cast<std::int64_t>(count);
  auto older = blocks.upper_bound(offset);
  if (older != blocks.begin()) --older;
  while (older != blocks.end() && older->first < end) {
    const std::int64_t first = older->first;
    const std::int64_t last = first + static_cast<std::int64_t>(older->second.size());
    if (last <= offset) {
      ++older;
      continue;
    }
    const std::vector<std::byte> held = std::move(older->second);
    older = blocks.erase(older);
    if (first < offset) blocks[first].assign(held.begin(), held.begin() + (offset - first));
    if (last > end) blocks[end].assign(held.begin() + (end - first), held.end());
  }
  blocks[offset].assign(bytes, bytes + count);
}

}  // namespace

Hdf5Writing::~Hdf5Writing() { close(); }

Hdf5Handle Hdf5Writing::access() {
  Hdf5Handle access = hdf5_access();
  return set_on(access.id()) ? std::move(access) : Hdf5Handle();
}

bool Hdf5Writing::set_on(hid_t access) {
  const H5FD_class_t driver = driver_class();
  const Hdf5Handle known(H5FDregister(&driver));
  const DriverInformation information{this};
  return known.ok() && H5Pset_driver(access, known.id(), &information) >= 0;
}

Error Hdf5Writing::failure(std::string_view what, const std::string& path, ErrorCode code) const {
  return refused_ != 0 ? system_failure(what, path, -1, refused_) : hdf5_failure(what, path, code);
}

void Hdf5Writing::begin_lookup() {
  looking_up_ = true;
  found_.reset();
}

bool Hdf5Writing::looks_up(std::int64_t offset, std::size_t count) {
  if (!looking_up_ || count > static_cast<std::size_t>(INT64_MAX)) return false;
  found_ = Lookup{offset, static_cast<std::int64_t>(count)};
  return true;
}

std::optional<Hdf5Writing::Lookup> Hdf5Writing::end_lookup() {
  looking_up_ = false;
  return std::exchange(found_, std::nullopt);
}

bool Hdf5Writing::open(const char* path, bool create, bool truncate) {
  int flags = O_CLOEXEC | (writes_ == Writes::are_caught ? O_RDONLY : O_RDWR);
  if (create) flags |= O_CREAT | O_NOFOLLOW;  // other users can guess the name
  if (truncate) flags |= O_TRUNC;
  if (writes_ == Writes::are_caught && (create || truncate)) return false;
  close();
  descriptor_ = uninterrupted([&] { return ::open(path, flags, new_file_mode); });
  if (descriptor_ < 0) refuse(errno);
  return descriptor_ >= 0;
}

void Hdf5Writing::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0 && errno != EINTR) refuse(errno);
}

std::int64_t Hdf5Writing::length() const {
  struct stat information {};
  if (::fstat(descriptor_, &information) != 0) return -1;
  std::int64_t length = information.st_size;
  if (!caught_.empty()) {
    const auto& [offset, bytes] = *caught_.rbegin();
    length = std::max(length, offset + static_cast<std::int64_t>(bytes.size()));
  }
  return length;
}

void Hdf5Writing::expect_arrays(std::int64_t count, std::int64_t bytes) {
  constexpr std::int64_t least_count = 8;
  constexpr std::int64_t metadata_of_each = 512;  // mostly less; more metadata lies between the
                                                  // arrays
  constexpr std::int64_t most_kept = 1 << 20;
  if (count < least_count) return;
  const std::int64_t from = round_up(end_, page_bytes);
  const std::int64_t kept = std::min(most_kept, count * metadata_of_each);
  const std::int64_t to =
      round_up(from + kept, std::max(page_bytes, alignment_of(alignment_, bytes)));
  if (from < 0 || to < 0) return;
  kept_free_ = {from, to};
  end_ = to;
}

// A block never ends where the file ends. Otherwise the library would extend it in place, into the
// next page.
std::int64_t Hdf5Writing::allocate_metadata(std::int64_t bytes, bool object_header) {
  const bool shares = object_header && std::exchange(shares_next_, false);
  Page& free = shares ? growing_headers_ : metadata_;
  const std::int64_t taken = round_up(bytes, granule);
  if (taken < 0) return -1;
  if (free.to - free.from < taken) {
    const bool fits = taken <= page_bytes - granule;
    if (fits && kept_free_.to - kept_free_.from >= page_bytes) {
      const std::int64_t kept = std::exchange(kept_free_.from, kept_free_.from + page_bytes);
      free = {kept, kept + page_bytes - granule};
      return std::exchange(free.from, free.from + taken);
    }
    const std::int64_t page = round_up(end_, page_bytes);
    if (page < 0 || taken > INT64_MAX - 2 * page_bytes - page) return -1;
    end_ = round_up(page + taken + granule, page_bytes);
    if (!fits) return page;
    free = {page, end_ - granule};
  }
  return std::exchange(free.from, free.from + taken);
}

std::int64_t Hdf5Writing::allocate_data(std::int64_t bytes) {
  if (given_.offset >= 0) {
    given_.allocated = true;
    return given_.offset;
  }
  const std::int64_t place = round_up(end_, std::max(granule, alignment_of(alignment_, bytes)));
  if (place < 0 || bytes > INT64_MAX - place) return -1;
  end_ = place + bytes;
  return place;
}

bool Hdf5Writing::drops_data(std::int64_t offset) {
  if (given_.offset < 0) return false;
  given_.written = given_.allocated && offset == given_.offset;
  return true;
}

bool Hdf5Writing::take_data_place() { return std::exchange(given_, GivenPlace()).written; }

// Bytes beyond the file's end read as zeros, like places in the file that were never written.
bool Hdf5Writing::read(std::int64_t offset, std::byte* bytes, std::size_t count) const {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t moved =
        ::pread(descriptor_, bytes + done, count - done, offset + static_cast<std::int64_t>(done));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) return false;
    if (moved == 0) break;
    done += static_cast<std::size_t>(moved);
  }
  std::fill(bytes + done, bytes + count, std::byte{0});
  const std::int64_t end = offset + static_cast<std::int64_t>(count);
  auto block = caught_.upper_bound(offset);
  if (block != caught_.begin()) --block;
  for (; block != caught_.end() && block->first < end; ++block) {
    const std::int64_t from = std::max(offset, block->first);
    const std::int64_t to =
        std::min(end, block->first + static_cast<std::int64_t>(block->second.size()));
    if (from >= to) continue;
    std::copy(block->second.begin() + (from - block->first),
              block->second.begin() + (to - block->first), bytes + (from - offset));
  }
  return true;
}

void Hdf5Writing::write(std::int64_t offset, const std::byte* bytes, std::size_t count) {
  if (writes_ == Writes::are_caught) {
    try {
      enter_block(caught_, offset, bytes, count);
    } catch (const std::bad_alloc&) {
      refuse(ENOMEM);
    }
    return;
  }
  std::size_t done = 0;
  while (done < count) {
    const ssize_t moved =
        ::pwrite(descriptor_, bytes + done, count - done, offset + static_cast<std::int64_t>(done));
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return refuse(moved < 0 ? errno : EIO);
    done += static_cast<std::size_t>(moved);
  }
  keep_block(offset, bytes, count);
}

void Hdf5Writing::keep_blocks(std::int64_t most) {
  kept_.emplace();
  may_be_kept_ = most;
}

void Hdf5Writing::keep_block(std::int64_t offset, const std::byte* bytes, std::size_t count) {
  if (!kept_) return;
  if (count > static_cast<std::size_t>(may_be_kept_)) return kept_.reset();
  may_be_kept_ -= static_cast<std::int64_t>(count);
  try {
    enter_block(*kept_, offset, bytes, count);
  } catch (const std::bad_alloc&) {
    kept_.reset();
  }
}

void Hdf5Writing::set_length() {
  if (writes_ != Writes::reach_the_file) return;
  if (uninterrupted([this] { return ::ftruncate(descriptor_, end_); }) != 0) refuse(errno);
}

}  // namespace weir::storage
