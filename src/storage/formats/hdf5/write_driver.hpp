// How the library writes files: a virtual file driver of Weir's own.
//
// The driver keeps metadata in pages of their own, and every block of up to a page inside one: a
// write of such a block is whole or not at all when the process is killed. The headers of arrays
// that grow share pages, so that a commit is one such write for about fifteen arrays. Arrays lie as
// alignment_of() has it.
//
// The driver can also catch all writes in memory: the library then believes that it changed the
// file, which is as it was, and what it would have written is a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/formats/hdf5/library.hpp"

namespace weir::storage {

// What the library wrote, or would have, by its place in the file. Blocks do not overlap.
using Hdf5Blocks = std::map<std::int64_t, std::vector<std::byte>>;

// One file that the library has open through this driver; it outlives the library's handle.
class Hdf5Writing {
 public:
  enum class Writes : std::uint8_t { reach_the_file, are_caught };

  Hdf5Writing(Writes writes, std::int64_t alignment) : writes_(writes), alignment_(alignment) {}
  Hdf5Writing(const Hdf5Writing&) = delete;
  Hdf5Writing& operator=(const Hdf5Writing&) = delete;
  ~Hdf5Writing();

  // The properties by which H5Fcreate() and H5Fopen() use it; otherwise those of hdf5_access().
  [[nodiscard]] Hdf5Handle access();

  // The file gets so many arrays, of so many bytes together: pages for their metadata are kept free
  // next to each other, so that small arrays lie next to each other, too, and are moved together;
  // they begin where one array of all these bytes would.
  void expect_arrays(std::int64_t count, std::int64_t bytes);
  // The next object header that the library makes is that of an array that grows.
  void share_next_header() { shares_next_ = true; }
  void set_alignment(std::int64_t alignment) { alignment_ = alignment; }
  // The next block of data has its bytes at `offset` already: the library is given this place, and
  // what it writes of data is dropped, until take_data_place(), which tells whether it used the
  // place. It does not when it has a place for the block.
  void give_data_place(std::int64_t offset) { given_ = {offset, false, false}; }
  [[nodiscard]] bool take_data_place();
  // Sets this driver on access properties that are there.
  [[nodiscard]] bool set_on(hid_t access);

  // Where the library would read data: from begin_lookup() on it is given no bytes for what it
  // reads of data, and end_lookup() tells of the last such read. So H5Dread_chunk() says at once
  // where a chunk is, for which H5Dget_chunk_info_by_coord() of HDF5 before 1.14 walks over all.
  struct Lookup {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
  };
  void begin_lookup();
  [[nodiscard]] std::optional<Lookup> end_lookup();

  // The first change of the file that the system refused, as errno; 0: none. The library is not
  // told: it could not close the file any more, and would crash when the program ends. So whoever
  // closed a file without an error looks here.
  [[nodiscard]] int refused() const { return refused_; }
  // Why the library could not do something with the file: the system's reason where the system has
  // refused something, otherwise the library's, as an error of this code.
  [[nodiscard]] Error failure(std::string_view what, const std::string& path, ErrorCode code) const;

  // Where the file ends for the library: its length when the file is closed.
  [[nodiscard]] std::int64_t end() const { return end_; }
  [[nodiscard]] const Hdf5Blocks& caught() const { return caught_; }

  // ---- For the driver's functions ----
  [[nodiscard]] bool open(const char* path, bool create, bool truncate);
  void close();
  [[nodiscard]] std::int64_t length() const;
  void set_end(std::int64_t end) { end_ = end; }
  // A new place in the file; negative when there is none.
  [[nodiscard]] std::int64_t allocate_metadata(std::int64_t bytes, bool object_header);
  [[nodiscard]] std::int64_t allocate_data(std::int64_t bytes);
  [[nodiscard]] bool read(std::int64_t offset, std::byte* bytes, std::size_t count) const;
  void write(std::int64_t offset, const std::byte* bytes, std::size_t count);
  void set_length();
  // Whether a read of data is a lookup, and moves no bytes.
  [[nodiscard]] bool looks_up(std::int64_t offset, std::size_t count);
  // Whether bytes of data are not to be written.
  [[nodiscard]] bool drops_data(std::int64_t offset);

 private:
  void catch_block(std::int64_t offset, const std::byte* bytes, std::size_t count);
  void refuse(int error) {
    if (refused_ == 0) refused_ = error;
  }

  Writes writes_;
  std::int64_t alignment_;
  int descriptor_ = -1;
  std::int64_t end_ = 0;
  int refused_ = 0;
  // Bytes of the file; of the last page of each kind, those that are free.
  struct Page {
    std::int64_t from = 0;
    std::int64_t to = 0;
  };
  Page kept_free_;  // whole pages, for metadata
  Page metadata_;
  Page growing_headers_;
  bool shares_next_ = false;
  bool looking_up_ = false;
  std::optional<Lookup> found_;
  struct GivenPlace {
    std::int64_t offset = -1;  // negative: none
    bool allocated = false;
    bool written = false;
  };
  GivenPlace given_;
  Hdf5Blocks caught_;
};

}  // namespace weir::storage
