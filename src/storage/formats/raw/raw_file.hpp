// A raw file of several arrays: where they lie in the one data file PATH, which has the elements in
// native (little-endian) form and nothing else.
//
// Arrays that do not grow come first, dense or, chunked, chunk c in slot c, packed in its own
// extents, in a slot with room for a whole chunk. Behind them are records of equal length, each
// with a few steps (one, unless chunks reach over several) of every array that grows: of each array
// these steps, dense or as whole chunks in row-major order of the grid. So a file grows at its end.
//
// Arrays that are added to a file that has steps lie behind these: first those that do not grow,
// then records that are longer, for the steps from then on. Of a new array that grows the earlier
// steps are not in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "storage/formats/file_description.hpp"
#include "storage/formats/format.hpp"

namespace weir::storage {

struct RawFileArray {
  ArrayDescription description;
  std::int64_t offset = 0;     // in the file; of one that grows, in each record
  std::int64_t from_step = 0;  // of one that grows: those before it are the fill value

  friend bool operator==(const RawFileArray&, const RawFileArray&) = default;
};

struct RawRecords {
  std::int64_t offset = 0;  // of the first
  std::int64_t bytes = 0;   // of one
  std::int64_t steps = 1;   // in one

  friend bool operator==(const RawRecords&, const RawRecords&) = default;
};

// Records of other lengths, for the steps from one on.
struct RawLaterRecords {
  std::int64_t first_step = 0;
  std::int64_t offset = 0;  // of the first
  std::int64_t bytes = 0;   // of one

  friend bool operator==(const RawLaterRecords&, const RawLaterRecords&) = default;
};

// The most later records of a file; each is a place more for every array that grows.
inline constexpr std::size_t most_later_records = 256;

struct RawFile {
  std::vector<RawFileArray> arrays;
  std::vector<GroupDescription> groups = {};  // NOLINT(readability-redundant-member-init)
  // What the document of another program may hold; Weir writes none of these.
  std::vector<AttributeLeftOut> left_out = {};  // NOLINT(readability-redundant-member-init)
  RawRecords records;
  // In the order of their steps; a record holds one step where there are any.
  std::vector<RawLaterRecords> later = {};  // NOLINT(readability-redundant-member-init)
  // The data file still has its temporary name, if there is one of that name: of a new file the
  // document is renamed into place first, and then the data.
  bool renaming = false;

  // The steps of the arrays that grow; nothing where none grows.
  [[nodiscard]] std::optional<std::int64_t> steps() const;
  // Sets the steps of every array that grows. Records of steps that are dropped are for the next
  // ones.
  [[nodiscard]] Status set_steps(std::int64_t steps);
  // What the data file has to hold. The file is one that check() finds well.
  [[nodiscard]] std::int64_t data_bytes() const;
  // Fails on what cannot be: arrays that no format has, other numbers of steps, places that
  // overlap the records' ends or end beyond 2^63 - 1 bytes.
  [[nodiscard]] Status check() const;
  // The data are in the file `data`.
  [[nodiscard]] FileMap map(const std::string& data) const;
  // The bytes of the record that holds a step.
  [[nodiscard]] std::int64_t bytes_of_record(std::int64_t step) const;

 private:
  [[nodiscard]] Status check_later() const;
};

[[nodiscard]] const FormatAbilities& raw_abilities();

// Finds places for all arrays, large ones at multiples of pages and of the file's alignment.
[[nodiscard]] Result<RawFile> place_raw_arrays(const FileDescription& file);

// Finds places for more arrays, which are described with as many steps as the file has. Fails where
// records hold several steps of those that are there.
[[nodiscard]] Status add_raw_arrays(RawFile& file, const std::vector<ArrayDescription>& added);

// Steps of an array that begin in the last record and are not in the file: where their own bytes
// lie, for whoever clears what a killed run left there.
struct RawRange {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};
[[nodiscard]] std::vector<RawRange> unused_in_last_record(const RawFile& file);

}  // namespace weir::storage
