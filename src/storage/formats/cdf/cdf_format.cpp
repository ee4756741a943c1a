#include "storage/formats/cdf/cdf_format.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "storage/engines/file.hpp"
#include "storage/engines/slices.hpp"
#include "storage/formats/cdf/cdf_layout.hpp"
#include "storage/formats/dimension_names.hpp"
#include "storage/formats/incomplete.hpp"

namespace weir::storage {
namespace {

// A header is read in pieces, each twice as long as the one before, up to this.
constexpr std::int64_t first_piece = std::int64_t{1} << 16;
constexpr std::int64_t most_header_bytes = std::int64_t{1} << 28;

constexpr std::int64_t cdf_padding = 4;  // elements of a variable fill a multiple of it

Result<std::int64_t> length_of(const File& file) {
  struct stat information {};
  if (::fstat(file.descriptor(), &information) != 0) {
    return system_failure("stat", file.path(), -1, errno);
  }
  return std::int64_t{information.st_size};
}

Status write_at(const File& file, std::vector<std::byte> bytes, std::int64_t offset) {
  const Slice slice{bytes.data(), static_cast<std::int64_t>(bytes.size())};
  std::int64_t calls = 0;
  return write_slices(file, {&slice, 1}, offset, calls);
}

Status cut(const File& file, std::int64_t bytes) {
  const auto now = length_of(file);
  if (!now) return now.error();
  return now.value() > bytes ? file.set_length(bytes) : Status();
}

Result<CdfHeader> read_header(const File& file, std::int64_t file_bytes) {
  std::vector<std::byte> bytes;
  for (std::int64_t piece = first_piece;; piece *= 2) {
    bytes.resize(static_cast<std::size_t>(std::min(piece, file_bytes)));
    std::int64_t read = 0;
    std::int64_t calls = 0;
    const Slice slice{bytes.data(), static_cast<std::int64_t>(bytes.size())};
    if (!bytes.empty()) {
      if (Status status = read_slices(file, {&slice, 1}, 0, read, calls); !status.ok()) {
        return status.error();
      }
    }
    bytes.resize(static_cast<std::size_t>(read));
    CdfParse parse = parse_cdf_header(bytes, file.path());
    if (!parse.more_wanted || read < piece || piece >= most_header_bytes) return parse.header;
  }
}

class CdfFormat final : public Format {
 public:
  explicit CdfFormat(int version) : version_(version), name_(fmt::format("cdf{}", version)) {}

  [[nodiscard]] std::string_view name() const override { return name_; }

  [[nodiscard]] FormatAbilities abilities() const override {
    return {.several_arrays = true,
            .attributes = true,
            .dimension_names = true,
            .dense = true,
            .growing = true,
            .fill = true};
  }

  Result<Attribute::Value> stored_attribute(const Attribute& attribute,
                                            const array::ElementType* /*array*/) const override {
    const auto encoded = encode_cdf_attribute(attribute, version_);
    if (!encoded) return encoded.error();
    return decode_cdf_attribute(encoded.value()).value;
  }

  Result<Room> lay_out(const FileDescription& given, const std::string& path) const override {
    const FileDescription description = with_dimension_names(given);
    if (Status fine = check_description(description, abilities(), name_); !fine.ok()) {
      return fine.error();
    }
    const auto header = cdf_header_of(description, version_);
    if (!header) return header.error();
    const std::string place = incomplete_path(path);
    const std::int64_t bytes =
        cdf_file_bytes(header.value(), header.value().records.value_or(0)).value_or(0);
    auto file = make_incomplete_file(path, description.striping);
    if (!file) return file.error();
    Status done = write_at(file.value(), encode_cdf_header(header.value()), 0);
    if (done.ok()) done = file.value().lengthen(bytes);
    if (done.ok()) done = file.value().close();
    if (!done.ok()) return done.error();
    auto map = described_as(description, cdf_map_of(header.value(), place, bytes));
    if (!map) return map.error();
    return Room{std::move(map).value(), publication_of({""})};
  }

  Result<FileMap> open(const std::string& path) const override {
    auto file = File::open(path, {});
    if (!file) return file.error();
    const auto bytes = length_of(file.value());
    if (!bytes) return bytes.error();
    const auto header = read_header(file.value(), bytes.value());
    if (!header) return header.error();
    return cdf_map_of(header.value(), path, bytes.value());
  }

  // The update is one number of the header in one write: readers see all these steps or none.
  Result<Room> make_room(const std::string& path, std::int64_t steps) const override {
    auto file = File::open(path, {.read = true, .write = true});
    if (!file) return file.error();
    const auto length = length_of(file.value());
    if (!length) return length.error();
    auto header = read_header(file.value(), length.value());
    if (!header) return header.error();
    const auto now = records_of(header.value(), length.value(), path);
    if (!now) return now.error();
    const bool fits = header.value().version == 5 || steps <= INT32_MAX;
    const auto bytes = cdf_file_bytes(header.value(), steps);
    if (steps < now.value() || !fits || !bytes) {
      return invalid_argument(fmt::format("{} steps for a file of CDF-{} that has {}", steps,
                                          header.value().version, now.value()));
    }
    // Behind the last record lies what a killed run wrote. Cut off, it reads as zeros.
    const auto committed = cdf_file_bytes(header.value(), now.value());
    // A file that was cut off has lost elements, which would be zeros if it were lengthened. Some
    // writers leave out the padding behind the last one.
    if (committed && length.value() + cdf_padding <= *committed) {
      Error error = invalid_argument(
          fmt::format("the file has {} bytes, its header tells of {}: it was cut off, and gets no "
                      "steps until it is whole",
                      length.value(), *committed));
      error.code = ErrorCode::corrupt;
      error.file = path;
      return error;
    }
    Status done = cut(file.value(), committed.value_or(length.value()));
    if (done.ok()) done = file.value().lengthen(*bytes);
    if (done.ok()) done = file.value().close();
    if (!done.ok()) return done.error();
    header.value().records = steps;
    return Room{cdf_map_of(header.value(), path, *bytes),
                {.made = {""},
                 .changes = {HeaderWrite{cdf_records_offset,
                                         encoded_cdf_records(header.value().version, steps)}}}};
  }

  Result<HeaderUpdate> drop_steps(const std::string& path, std::int64_t steps,
                                  std::int64_t /*before*/) const override {
    auto file = File::open(path, {});
    if (!file) return file.error();
    const auto length = length_of(file.value());
    if (!length) return length.error();
    const auto header = read_header(file.value(), length.value());
    if (!header) return header.error();
    const auto now = records_of(header.value(), length.value(), path);
    if (!now) return now.error();
    return HeaderUpdate{
        .made = {},
        .changes = {
            HeaderWrite{cdf_records_offset, encoded_cdf_records(header.value().version, steps)}}};
  }

  Status clear_unfinished(const std::string& path, std::int64_t steps) const override {
    auto file = File::open(path, {.read = true, .write = true});
    if (!file) return file.error();
    const auto length = length_of(file.value());
    if (!length) return length.error();
    const auto header = read_header(file.value(), length.value());
    if (!header) return header.error();
    const auto bytes = cdf_file_bytes(header.value(), steps);
    if (!bytes) return invalid_argument("the file's end is not known");
    Status done = cut(file.value(), *bytes);
    return done.ok() ? file.value().close() : done;
  }

  Result<std::vector<std::string>> unfinished(const std::string& path) const override {
    auto file = File::open(path, {});
    if (!file) return file.error();
    const auto length = length_of(file.value());
    if (!length) return length.error();
    const auto header = read_header(file.value(), length.value());
    if (!header) return header.error();
    std::vector<std::string> lines = cut_off(header.value(), path, length.value());
    if (!header.value().records) return lines;  // its end is where the last record ends
    const auto end = cdf_file_bytes(header.value(), *header.value().records);
    if (end && length.value() > *end) {
      lines.push_back(
          fmt::format("{} bytes behind the last of {} steps: one that was not committed",
                      length.value() - *end, *header.value().records));
    }
    return lines;
  }

 private:
  // A line for each array that would be read if the file were longer.
  static std::vector<std::string> cut_off(const CdfHeader& header, const std::string& path,
                                          std::int64_t length) {
    std::vector<std::string> lines;
    if (!header.records && header.record_stride().value_or(0) > 0) return lines;
    const FileMap whole = cdf_map_of(header, path, INT64_MAX);
    for (const RefusedArray& one : cdf_map_of(header, path, length).refused) {
      if (whole.find(one.name) == nullptr) continue;
      lines.push_back(fmt::format("array {}: {}", printable(one.name), one.reason));
    }
    return lines;
  }

  // Of a file that holds steps; counted from its length where its writer did not count them.
  static Result<std::int64_t> records_of(const CdfHeader& header, std::int64_t bytes,
                                         const std::string& path) {
    const auto stride = header.record_stride();
    if (!stride || *stride == 0) {
      Error error = invalid_argument("no array of this file grows");
      error.file = path;
      return error;
    }
    if (header.records) return *header.records;
    const auto first = cdf_file_bytes(header, 0);
    return first && bytes > *first ? (bytes - *first) / *stride : 0;
  }

  int version_;
  std::string name_;
};

}  // namespace

const Format* cdf_format(int version) {
  static const CdfFormat first(1);
  static const CdfFormat second(2);
  static const CdfFormat fifth(5);
  return version == 1 ? &first : version == 2 ? &second : &fifth;
}

}  // namespace weir::storage
