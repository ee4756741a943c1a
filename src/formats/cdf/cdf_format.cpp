#include "formats/cdf/cdf_format.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/page.hpp"
#include "formats/additions.hpp"
#include "formats/cdf/cdf_layout.hpp"
#include "formats/dimension_names.hpp"
#include "formats/new_file.hpp"
#include "formats/reading_limits.hpp"
#include "system/file.hpp"
#include "system/incomplete.hpp"
#include "system/slices.hpp"

namespace weir::storage {
namespace {

// A header is read in pieces, each twice as long as the previous one, up to this limit.
constexpr std::int64_t first_piece = std::int64_t{1} << 16;
constexpr std::int64_t most_header_bytes = std::int64_t{1} << 28;

constexpr std::int64_t cdf_padding = 4;  // elements of a variable are padded to a multiple of this

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
  const auto limits = reading_limits();
  if (!limits) return limits.error();
  const auto most_memory = static_cast<std::int64_t>(limits.value().header.more_memory);
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
    CdfParse parse = parse_cdf_header(bytes, file.path(), most_memory);
    if (!parse.more_wanted || read < piece || piece >= most_header_bytes) return parse.header;
  }
}

// An open file with its header.
struct OpenedCdf {
  File file;
  std::int64_t length = 0;  // length of the file
  CdfHeader header;

  static Result<OpenedCdf> open(const std::string& path, const OpenOptions& options) {
    auto file = File::open(path, options);
    if (!file) return file.error();
    const auto length = length_of(file.value());
    if (!length) return length.error();
    auto header = read_header(file.value(), length.value());
    if (!header) return header.error();
    return OpenedCdf{std::move(file).value(), length.value(), std::move(header).value()};
  }
};

class CdfFormat final : public Format {
 public:
  explicit CdfFormat(int version) : version_(version), name_(fmt::format("cdf{}", version)) {}

  [[nodiscard]] std::string_view name() const override { return name_; }

  [[nodiscard]] FormatAbilities abilities() const override {
    // New files whose names say no more than NetCDF are of the version that has large arrays.
    static constexpr std::array<std::string_view, 2> suffixes = {".nc", ".nc5"};
    return {.suffixes = version_ == 5 ? suffixes : std::span<const std::string_view>(),
            .several_arrays = true,
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
    const auto opened = OpenedCdf::open(path, {});
    if (!opened) return opened.error();
    return cdf_map_of(opened.value().header, path, opened.value().length);
  }

  // The update is one number of the header in one write, so readers see all new steps or none.
  Result<Room> make_room(const std::string& path, std::int64_t steps) const override {
    auto opened = OpenedCdf::open(path, {.read = true, .write = true});
    if (!opened) return opened.error();
    auto& [file, length, header] = opened.value();
    const auto now = records_of(header, length, path);
    if (!now) return now.error();
    const bool fits = header.version == 5 || steps <= INT32_MAX;
    const auto bytes = cdf_file_bytes(header, steps);
    if (steps < now.value() || !fits || !bytes) {
      return invalid_argument(fmt::format("steps is {}, but the file of CDF-{} has {}", steps,
                                          header.version, now.value()));
    }
    // Bytes behind the last record were left by a killed run. After they are cut off, the place
    // reads as zeros.
    const auto committed = cdf_file_bytes(header, now.value());
    if (committed) {
      if (Status whole = check_is_whole(path, length, *committed); !whole.ok()) {
        return whole.error();
      }
    }
    Status done;
    if (!header.records) {
      // Readers derive the number of records in such a file from its length, which is about to
      // change.
      done = write_at(file, encoded_cdf_records(header.version, now.value()), cdf_records_offset);
      if (done.ok()) done = file.sync();
    }
    if (done.ok()) done = cut(file, cdf_data_end(header, now.value()).value_or(length));
    if (done.ok()) done = file.lengthen(*bytes);
    if (done.ok()) done = file.close();
    if (!done.ok()) return done.error();
    header.records = steps;
    return Room{
        cdf_map_of(header, path, *bytes),
        {.made = {""},
         .changes = {HeaderWrite{cdf_records_offset, encoded_cdf_records(header.version, steps)}}}};
  }

  Result<HeaderUpdate> drop_steps(const std::string& path, std::int64_t steps,
                                  std::int64_t /*before*/) const override {
    auto opened = OpenedCdf::open(path, {});
    if (!opened) return opened.error();
    auto& [file, length, header] = opened.value();
    const auto now = records_of(header, length, path);
    if (!now) return now.error();
    return HeaderUpdate{
        .made = {},
        .changes = {HeaderWrite{cdf_records_offset, encoded_cdf_records(header.version, steps)}}};
  }

  // The update is one write of the changed part of the header, within a page, so it is done
  // completely or not at all.
  Result<HeaderUpdate> add(const std::string& path, const Additions& added) const override {
    auto opened = OpenedCdf::open(path, {.read = true, .write = true});
    if (!opened) return opened.error();
    auto& [file, length, header] = opened.value();
    const std::int64_t now = header.records.value_or(0);
    const auto committed = cdf_file_bytes(header, now);
    if (!committed) return invalid_argument("the end of the file is unknown");
    if (Status whole = check_is_whole(path, length, *committed); !whole.ok()) return whole.error();
    CdfHeader larger = header;
    Status entered = add_to_cdf_header(added, *committed, larger);
    if (!entered.ok()) return entered.error();
    auto change = change_of_header(file, larger);
    if (!change) return change.error();
    if (!added.arrays.empty()) {
      Status made = make_places(file, *committed, larger, header.variables.size());
      if (!made.ok()) return made.error();
    }
    if (Status closed = file.close(); !closed.ok()) return closed.error();
    return HeaderUpdate{.made = {""}, .changes = {std::move(change).value()}};
  }

  Status clear_unfinished(const std::string& path, std::int64_t steps) const override {
    auto opened = OpenedCdf::open(path, {.read = true, .write = true});
    if (!opened) return opened.error();
    auto& [file, length, header] = opened.value();
    const auto bytes = cdf_file_bytes(header, steps);
    if (!bytes) return invalid_argument("the end of the file is unknown");
    Status done = cut(file, cdf_data_end(header, steps).value_or(*bytes));
    if (done.ok()) done = file.lengthen(*bytes);
    return done.ok() ? file.close() : done;
  }

  Result<std::vector<std::string>> unfinished(const std::string& path) const override {
    auto opened = OpenedCdf::open(path, {});
    if (!opened) return opened.error();
    auto& [file, length, header] = opened.value();
    std::vector<std::string> lines;
    if (!header.records) return lines;  // the end of the last record is the end of the file
    const auto end = cdf_file_bytes(header, *header.records);
    if (end && length > *end) {
      lines.push_back(
          fmt::format("{} bytes after the last of {} steps: a step that was not committed",
                      length - *end, *header.records));
    }
    return lines;
  }

 private:
  // Fails if the file was cut off: its lost elements would read as zeros if the file were
  // lengthened. Some writers omit the padding behind the last element.
  static Status check_is_whole(const std::string& path, std::int64_t bytes,
                               std::int64_t committed) {
    if (bytes + cdf_padding > committed) return {};
    return Error(ErrorCode::corrupt,
                 fmt::format("the file has {} bytes, but its header describes {}: it was "
                             "truncated, so nothing can be added to it; weir check lists the steps "
                             "that are lost, and weir truncate drops steps",
                             bytes, committed),
                 path);
  }

  // Returns a write from the first changed byte to the last.
  static Result<HeaderChange> change_of_header(const File& file, const CdfHeader& larger) {
    const std::vector<std::byte> wanted = encode_cdf_header(larger);
    std::vector<std::byte> there(wanted.size());
    const Slice slice{there.data(), static_cast<std::int64_t>(there.size())};
    std::int64_t read = 0;
    std::int64_t calls = 0;
    if (Status status = read_slices(file, {&slice, 1}, 0, read, calls); !status.ok()) {
      return status.error();
    }
    std::size_t first = 0;
    while (first < wanted.size() && wanted[first] == there[first]) ++first;
    std::size_t last = wanted.size();
    while (last > first && wanted[last - 1] == there[last - 1]) --last;
    // A write changes a whole page of the system's cache at once.
    constexpr auto page = static_cast<std::size_t>(page_bytes);
    if (last > first && first / page != (last - 1) / page) {
      return Error(
          ErrorCode::unsupported,
          fmt::format("the header of this CDF file would change from byte {} to {}, in several "
                      "pages of {} bytes, so a killed run could leave a part of the change; "
                      "convert the file, or define all arrays and attributes before the first step",
                      first, last - 1, page));
    }
    const auto begin = static_cast<std::ptrdiff_t>(first);
    const auto end = static_cast<std::ptrdiff_t>(last);
    return HeaderChange(HeaderWrite{static_cast<std::int64_t>(first),
                                    {wanted.begin() + begin, wanted.begin() + end}});
  }

  // Makes room for the variables from number `first` on, which readers do not know yet.
  static Status make_places(const File& file, std::int64_t committed, const CdfHeader& larger,
                            std::size_t first) {
    const auto bytes = cdf_file_bytes(larger, 0);
    if (!bytes) return invalid_argument("the end of the file is unknown");
    Status done = cut(file, committed);
    if (done.ok()) done = file.lengthen(*bytes);
    if (!done.ok()) return done;
    std::vector<StoredArray> fresh;
    for (StoredArray& one : cdf_map_of(larger, file.path(), *bytes).arrays) {
      const bool is_new = std::any_of(
          larger.variables.begin() + static_cast<std::ptrdiff_t>(first), larger.variables.end(),
          [&](const CdfVariable& variable) { return variable.name == one.description.name; });
      if (is_new) fresh.push_back(std::move(one));
    }
    return write_fills_of(fresh);
  }

  // Returns the number of records of a file with steps; it is derived from the file's length if the
  // writer did not count them.
  static Result<std::int64_t> records_of(const CdfHeader& header, std::int64_t bytes,
                                         const std::string& path) {
    const auto stride = header.record_stride();
    if (!stride || *stride == 0) {
      return invalid_argument("no array of this file has steps", path);
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
