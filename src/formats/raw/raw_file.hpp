// A raw file: the places of its arrays in the data file PATH, which has the elements in native
// (little-endian) form and nothing else.
//
// Arrays that do not grow come first. They are dense or chunked; chunk c is in slot c, packed in
// its own extents, in a slot with room for a whole chunk. Records of equal length follow. Each
// holds a few steps (one, unless chunks extend over several steps) of every array that grows; in a
// record, the steps of each array are dense or lie as whole chunks in row-major order of the grid.
// So a file grows at its end.
//
// Arrays that are added to a file with steps lie behind these steps: first those that do not grow,
// then longer records, for all later steps. The earlier steps of a new array that grows are not in
// the file.
//
// A file of one array that does not grow may have several data files PATH.0, PATH.1 and so on. Of
// each group of F consecutive chunks, F being the number of files, one is in each file; chunk c is
// in slot c div F of its file. The order of a group's files is rotated from group to group
// (array/declustering.hpp), so that sections spread over the files. The files may lie in several
// directories. A relative directory begins at the folder of the document and cannot leave it. A
// file without absolute directories can therefore be moved as a whole, and its document leads
// nowhere else. No directory's name may contain "..".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "formats/format.hpp"
#include "stored/file_description.hpp"

namespace weir::storage {

struct RawFileArray {
  ArrayDescription description;
  std::int64_t offset = 0;     // in the file; if the array grows, in each record
  std::int64_t from_step = 0;  // if the array grows: earlier steps have the fill value

  friend bool operator==(const RawFileArray&, const RawFileArray&) = default;
};

struct RawRecords {
  std::int64_t offset = 0;  // offset of the first record
  std::int64_t bytes = 0;   // bytes of one record
  std::int64_t steps = 1;   // steps in one record

  friend bool operator==(const RawRecords&, const RawRecords&) = default;
};

// Records of another length, for all steps from `first_step` on.
struct RawLaterRecords {
  std::int64_t first_step = 0;
  std::int64_t offset = 0;  // offset of the first record
  std::int64_t bytes = 0;   // bytes of one record

  friend bool operator==(const RawLaterRecords&, const RawLaterRecords&) = default;
};

// Largest number of later records of a file. Each adds a place to every array that grows.
inline constexpr std::size_t most_later_records = 256;
// Largest number of directories in which data files lie.
inline constexpr std::int64_t most_directories = std::int64_t{1} << 12;
// Fails on a name that a document cannot hold: empty, too long, leading upwards, or not in UTF-8.
[[nodiscard]] Status check_directory_name(const std::string& name);

struct RawFile {
  std::vector<RawFileArray> arrays;
  std::vector<GroupDescription> groups = {};  // NOLINT(readability-redundant-member-init)
  // Parts of another program's document that Weir has no value for; Weir writes none of these.
  std::vector<AttributeLeftOut> left_out = {};  // NOLINT(readability-redundant-member-init)
  RawRecords records;
  // In the order of their steps. If there are any, every record holds one step.
  std::vector<RawLaterRecords> later = {};  // NOLINT(readability-redundant-member-init)
  // The data file still has its temporary name, if a file of that name exists: for a new file the
  // document is renamed into place first, and then the data.
  bool renaming = false;
  Placement placement = {};  // NOLINT(readability-redundant-member-init)

  // Returns the number of steps of the arrays that grow; nothing if no array grows.
  [[nodiscard]] std::optional<std::int64_t> steps() const;
  // Sets the number of steps of every array that grows. The records of dropped steps are used for
  // the next steps.
  [[nodiscard]] Status set_steps(std::int64_t steps);
  // Returns the length that data file number `file` must have. check() must have accepted the file.
  [[nodiscard]] std::int64_t data_bytes(std::int64_t file = 0) const;
  // Fails on invalid values: arrays that no format can have, different numbers of steps, places
  // that overlap the records' ends or end beyond 2^63 - 1 bytes, several data files of something
  // else than one array in chunks, more than 2^20 of them, directories for a single one.
  [[nodiscard]] Status check() const;
  // Returns the map for the data file `data`, or for several whose names begin with it.
  [[nodiscard]] FileMap map(const std::string& data) const;
  // Returns the paths of the data files, likewise.
  [[nodiscard]] DataFiles data_files(const std::string& data) const;
  // Returns the bytes of the record that holds a step.
  [[nodiscard]] std::int64_t bytes_of_record(std::int64_t step) const;

 private:
  [[nodiscard]] Status check_later() const;
  [[nodiscard]] Status check_placement() const;
};

[[nodiscard]] const FormatAbilities& raw_abilities();

// Finds places for all arrays; large arrays begin at multiples of pages and of the file's
// alignment.
[[nodiscard]] Result<RawFile> place_raw_arrays(const FileDescription& file);

// Finds places for additional arrays, which are described with as many steps as the file has. Fails
// if records of the existing arrays hold several steps.
[[nodiscard]] Status add_raw_arrays(RawFile& file, const std::vector<ArrayDescription>& added);

// Returns the places, in the last record, of steps that are not in the file, so that the leftovers
// of a killed run can be cleared there.
struct RawRange {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};
[[nodiscard]] std::vector<RawRange> unused_in_last_record(const RawFile& file);

}  // namespace weir::storage
