// The virtual file driver by which the library writes files.
//
// The driver keeps metadata in pages of their own, and every block of up to a page inside one page:
// a write of such a block is done completely or not at all if the process is killed. The headers of
// arrays that grow share pages, so that a commit is one such write for about fifteen arrays. Arrays
// are aligned as alignment_of() requires.
//
// The driver can also catch all writes in memory. The library then believes that it changed the
// file, but the file is unchanged, and the writes are available as a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/hdf5/library.hpp"

namespace weir::storage {

// Bytes that the library wrote, or would have written, by offset in the file. Blocks do not
// overlap.
using Hdf5Blocks = std::map<std::int64_t, std::vector<std::byte>>;

// One file that the library has open through this driver. It must outlive the library's handle.
class Hdf5Writing {
 public:
  enum class Writes : std::uint8_t { reach_the_file, are_caught };

  Hdf5Writing(Writes writes, std::int64_t alignment) : writes_(writes), alignment_(alignment) {}
  Hdf5Writing(const Hdf5Writing&) = delete;
  Hdf5Writing& operator=(const Hdf5Writing&) = delete;
  ~Hdf5Writing();

  // Returns the properties by which H5Fcreate() and H5Fopen() use this object; all other properties
  // are those of hdf5_access().
  [[nodiscard]] Hdf5Handle access();

  // Prepares for `count` arrays of `bytes` bytes together. Pages for their metadata are kept free
  // next to each other, so that small arrays also lie next to each other, and are moved together.
  // They begin where one array of all these bytes would.
  void expect_arrays(std::int64_t count, std::int64_t bytes);
  // Announces that the next object header that the library makes belongs to an array that grows.
  void share_next_header() { shares_next_ = true; }
  void set_alignment(std::int64_t alignment) { alignment_ = alignment; }
  // Announces that the bytes of the next block of data are already at `offset`. Until
  // take_data_place(), the library is given this place, and its writes of data are dropped.
  // take_data_place() returns whether the library used the place; it does not if it already has a
  // place for the block.
  void give_data_place(std::int64_t offset) { given_ = {offset, false, false}; }
  [[nodiscard]] bool take_data_place();
  // Sets this driver on existing access properties.
  [[nodiscard]] bool set_on(hid_t access);

  // Finds where the library would read data. After begin_lookup() the library gets no bytes for its
  // reads of data, and end_lookup() returns the last such read. So H5Dread_chunk() gives the place
  // of a chunk at once; H5Dget_chunk_info_by_coord() of HDF5 before 1.14 iterates over all chunks
  // instead.
  struct Lookup {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
  };
  void begin_lookup();
  [[nodiscard]] std::optional<Lookup> end_lookup();

  // Keeps copies of the blocks that reach the file, until they are more than `most` bytes.
  void keep_blocks(std::int64_t most);
  // Returns the copies; nothing if they were more.
  [[nodiscard]] std::optional<Hdf5Blocks> take_kept() { return std::exchange(kept_, std::nullopt); }

  // Returns the errno of the first change of the file that the system refused; 0: none. The library
  // does not get the error, because it could then not close the file, and would crash when the
  // program ends. Callers must therefore check this even after a file was closed without an error.
  [[nodiscard]] int refused() const { return refused_; }
  // Returns why the library could not do something with the file: the system's reason if the system
  // has refused something, otherwise the library's. The error has this code.
  [[nodiscard]] Error failure(std::string_view what, const std::string& path, ErrorCode code) const;

  // Returns where the file ends for the library, which is its length when it is closed.
  [[nodiscard]] std::int64_t end() const { return end_; }
  [[nodiscard]] const Hdf5Blocks& caught() const { return caught_; }

  // ---- Called by the driver's functions ----
  [[nodiscard]] bool open(const char* path, bool create, bool truncate);
  void close();
  [[nodiscard]] std::int64_t length() const;
  void set_end(std::int64_t end) { end_ = end; }
  // Return a new place in the file; negative if there is none.
  [[nodiscard]] std::int64_t allocate_metadata(std::int64_t bytes, bool object_header);
  [[nodiscard]] std::int64_t allocate_data(std::int64_t bytes);
  [[nodiscard]] bool read(std::int64_t offset, std::byte* bytes, std::size_t count) const;
  void write(std::int64_t offset, const std::byte* bytes, std::size_t count);
  void set_length();
  // Returns whether a read of data is a lookup, which moves no bytes.
  [[nodiscard]] bool looks_up(std::int64_t offset, std::size_t count);
  // Returns whether bytes of data are dropped instead of written.
  [[nodiscard]] bool drops_data(std::int64_t offset);

 private:
  void keep_block(std::int64_t offset, const std::byte* bytes, std::size_t count);
  void refuse(int error) {
    if (refused_ == 0) refused_ = error;
  }

  Writes writes_;
  std::int64_t alignment_;
  int descriptor_ = -1;
  std::int64_t end_ = 0;
  int refused_ = 0;
  // Offsets of the free bytes in the last page of each kind.
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
  std::optional<Hdf5Blocks> kept_;
  std::int64_t may_be_kept_ = 0;  // further bytes
};

}  // namespace weir::storage
