// Opens a file of any format. The format is recognized by the file's content, not by its name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/status.hpp"
#include "formats/file_version.hpp"
#include "formats/format.hpp"
#include "system/file_facts.hpp"
#include "system/known_file.hpp"

namespace weir::storage {

struct OpenedFile {
  std::string_view format;  // "hdf5", "cdf5", "cdf2", "cdf1", "zarr", "raw"
  std::string path;         // without the .json of a raw file's document
  FileMap map;
  // Is not newer than the map. A process that changes the file must compare the version first.
  FileVersion version;
};

// `path` is that of an HDF5 or NetCDF file, of a Zarr folder, of a raw array or of its document
// PATH.json. Fails if it is none of these, or if Format::open() fails. The map contains the
// identity of the file from which it was read (DataFiles::known()).
[[nodiscard]] Result<OpenedFile> open_any(const std::string& path);

// Opens a file in the same way for a caller that reads its arrays. Refuses those whose chunks are
// larger than the environment allows (reading_limits.hpp).
[[nodiscard]] Result<OpenedFile> open_within_limits(const std::string& path);

// Opens a file whose only array is read, or written in place. A raw document is believed, so that
// its data are not opened to see whether another program has replaced them. Without a document this
// is open_within_limits().
[[nodiscard]] Result<OpenedFile> open_in_place(const std::string& path);

// Returns the path of the first array's first data file, or `path`, that of the map's file, if
// there is none.
[[nodiscard]] std::string first_data_file(const FileMap& map, const std::string& path);
// Returns the file or folder to which the data files of a map of `path` belong, or nothing if there
// is none or its identity is unknown. `facts_of_first`: those of first_data_file(); null: the
// system is asked.
[[nodiscard]] std::optional<KnownFile> known_file_of(const FileMap& map, const std::string& path,
                                                     const FileFacts* facts_of_first = nullptr);
// Sets the known file of all arrays of the map.
void set_known_file(FileMap& map, const std::optional<KnownFile>& known);

// Returns whether readers of `path` see a file whose data still have their temporary name, which
// can be the result of a commit that failed half-way.
[[nodiscard]] bool is_seen_unrenamed(const std::string& path);

}  // namespace weir::storage
