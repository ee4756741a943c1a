#include "formats/cdf/cdf_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "common/checked.hpp"
#include "formats/fill_attribute.hpp"

namespace weir::storage {
namespace {

// The largest length and place that a version can express.
std::int64_t most_length(int version) {
  return version == 5 ? INT64_MAX : std::numeric_limits<std::int32_t>::max() - 3;
}
std::int64_t most_bytes(int version) {
  if (version == 5) return INT64_MAX - 3;
  return version == 2 ? std::int64_t{std::numeric_limits<std::uint32_t>::max()} - 3
                      : std::int64_t{std::numeric_limits<std::int32_t>::max()} - 3;
}
std::int64_t most_offset(int version) {
  return version == 1 ? std::numeric_limits<std::int32_t>::max() : INT64_MAX;
}

// ---- Description to header --------------------------------------------------------------------

class HeaderMaker {
 public:
  HeaderMaker(const FileDescription& file, int version) : file_(file) { header_.version = version; }
  // Adds to the header of an existing file.
  HeaderMaker(const FileDescription& file, CdfHeader header)
      : file_(file), header_(std::move(header)) {
    for (std::size_t i = 0; i < header_.dimensions.size(); ++i) {
      const CdfDimension& one = header_.dimensions[i];
      numbers_.emplace(one.name, static_cast<std::int64_t>(i));
      if (one.length == 0) record_name_ = one.name;
    }
  }

  Result<CdfHeader> make() {
    if (Status fine = add_all(); !fine.ok()) return fine.error();
    header_.bytes = static_cast<std::int64_t>(encode_cdf_header(header_).size());
    if (Status fine = place(0, header_.bytes); !fine.ok()) return fine.error();
    return header_;
  }

  // `of_variables` are attributes of existing variables, by name.
  Result<CdfHeader> make_larger(const std::vector<GroupDescription>& of_variables,
                                std::int64_t file_bytes) {
    const std::size_t there = header_.variables.size();
    std::int64_t first = INT64_MAX;
    bool has_steps = false;
    for (const CdfVariable& one : header_.variables) {
      first = std::min(first, one.begin);
      has_steps = has_steps || (header_.is_record(one) && header_.records != 0);
    }
    if (has_steps && !file_.arrays.empty()) {
      return Error(ErrorCode::unsupported,
                   fmt::format("array \"{}\" cannot be added: the steps of a CDF file are its last "
                               "bytes, each with all "
                               "arrays in it, and a new array would move them; convert the file, "
                               "or define all arrays "
                               "before the first step",
                               file_.arrays.front().name));
    }
    for (const GroupDescription& owner : of_variables) {
      const auto found = std::find_if(header_.variables.begin(), header_.variables.end(),
                                      [&](const auto& one) { return one.name == owner.name; });
      if (found == header_.variables.end()) continue;
      Status fine = add(found->attributes, owner.attributes);
      if (!fine.ok()) return fine.error();
    }
    if (Status fine = add_all(); !fine.ok()) return fine.error();
    header_.bytes = static_cast<std::int64_t>(encode_cdf_header(header_).size());
    if (header_.bytes > first) {
      return Error(ErrorCode::unsupported,
                   fmt::format("the new arrays and attributes do not fit: the header would have {} "
                               "bytes, but the first array of the file is at byte {}; convert the "
                               "file, or define all arrays and attributes before the first step",
                               header_.bytes, first));
    }
    if (file_.arrays.empty()) return header_;
    if (Status fine = place(there, std::max(file_bytes, header_.bytes)); !fine.ok()) {
      return fine.error();
    }
    return header_;
  }

 private:
  Status add_all() {
    for (const GroupDescription& group : file_.groups) {
      if (!group.name.empty()) continue;
      if (Status fine = add(header_.attributes, group.attributes); !fine.ok()) return fine;
    }
    for (const ArrayDescription& one : file_.arrays) {
      if (Status fine = add_variable(one); !fine.ok()) return fine;
    }
    return {};
  }

  // Adds attributes, replacing those of the same names.
  Status add(std::vector<CdfAttribute>& to, const std::vector<Attribute>& attributes) const {
    for (const Attribute& one : attributes) {
      auto made = encode_cdf_attribute(one, header_.version);
      if (!made) return made.error();
      const auto same = std::find_if(to.begin(), to.end(),
                                     [&](const auto& there) { return there.name == one.name; });
      if (same == to.end()) {
        to.push_back(std::move(made).value());
      } else {
        *same = std::move(made).value();
      }
    }
    return {};
  }

  Result<std::int64_t> dimension(const std::string& name, std::int64_t length, bool record) {
    const auto known = numbers_.find(name);
    if (known != numbers_.end()) return known->second;
    if (!record && length > most_length(header_.version)) {
      return invalid_argument(fmt::format("dimension \"{}\" has length {}; CDF-{} has at most {}",
                                          name, length, header_.version,
                                          most_length(header_.version)));
    }
    if (!record && length == 0) {
      return invalid_argument(fmt::format(
          "dimension \"{}\" has length 0, which NetCDF allows only for the record dimension",
          name));
    }
    const auto number = static_cast<std::int64_t>(header_.dimensions.size());
    header_.dimensions.push_back({name, record ? 0 : length});
    numbers_.emplace(name, number);
    return number;
  }

  Status add_variable(const ArrayDescription& one) {
    const auto type = cdf_type(one.type, header_.version);
    if (!type) {
      return Error(ErrorCode::unsupported, fmt::format("array \"{}\": CDF-{} has no type {}",
                                                       one.name, header_.version, one.type.name()));
    }
    CdfVariable variable{one.name, {}, {}, *type, 0};
    const int dimensions = one.is_scalar ? 0 : one.shape.dimensions();
    for (int depth = 0; depth < dimensions; ++depth) {
      const int d = array::dimension_at_depth(one.order, dimensions, depth);
      const bool record = one.grows && d == 0;
      const std::int64_t length = one.shape.extent(d);
      const std::string& name = one.dimension_names[static_cast<std::size_t>(d)];
      if (record) {
        if (Status fine = agree_on_records(one, name); !fine.ok()) return fine;
      }
      const auto number = dimension(name, length, record);
      if (!number) return number.error();
      variable.dimensions.push_back(number.value());
    }
    // A file of this format can only store the fill value as this attribute.
    if (*type == CdfType::character && !one.fill.empty() &&
        find_attribute(one.attributes, fill_attribute_name) == nullptr) {
      variable.attributes.push_back({fill_attribute_name, *type, one.fill});
    }
    if (Status fine = add(variable.attributes, with_fill_attribute(one)); !fine.ok()) return fine;
    header_.variables.push_back(std::move(variable));
    return {};
  }

  Status agree_on_records(const ArrayDescription& one, const std::string& name) {
    const std::int64_t records = one.shape.extent(0);
    if (record_name_.empty()) {
      record_name_ = name;
      header_.records = records;
    }
    if (name == record_name_ && records == header_.records) return {};
    return invalid_argument(
        fmt::format("array \"{}\" grows along \"{}\" with {} steps, and another array along \"{}\" "
                    "with {}; a CDF file has only one record dimension",
                    one.name, name, records, record_name_, header_.records.value_or(0)));
  }

  // Returns the bytes of those fixed variables, or of one record of those record variables, that
  // are too small to be aligned.
  [[nodiscard]] std::int64_t bytes_of_small(bool records) const {
    std::int64_t sum = 0;
    for (const CdfVariable& one : header_.variables) {
      const std::int64_t bytes = header_.data_bytes(one).value_or(0);
      if (header_.is_record(one) != records || alignment_of(file_.alignment, bytes) > 1) continue;
      sum = checked_add(sum, bytes).value_or(INT64_MAX);
    }
    return sum;
  }

  // Places the fixed variables from number `first_new` on, in their order, beginning at `from`, and
  // then the records, of which there are none yet.
  Status place(std::size_t first_new, std::int64_t from) {
    std::optional<std::int64_t> next = from;
    for (const bool records : {false, true}) {
      bool first = true;
      for (std::size_t i = records ? 0 : first_new; i < header_.variables.size(); ++i) {
        CdfVariable& one = header_.variables[i];
        if (header_.is_record(one) != records) continue;
        const auto bytes = header_.data_bytes(one);
        if (!bytes || *bytes > most_bytes(header_.version)) return too_large(one);
        // Records are interleaved, so only the first record variable can be aligned. The first
        // variable begins where an array with the size of all small variables would, because these
        // are moved together.
        const std::int64_t alignment =
            records && !first ? 1 : alignment_of(file_.alignment, *bytes);
        const std::optional<std::int64_t> before = next;
        if (next) next = checked_round_up(*next, std::max<std::int64_t>(4, alignment));
        if (first && before) {
          const auto together = checked_round_up(
              *before, std::max({std::int64_t{4}, alignment,
                                 alignment_of(file_.alignment, bytes_of_small(records))}));
          // Alignment is omitted if it takes room that a small format does not have.
          if (together && *together <= most_offset(header_.version)) next = together;
        }
        if (!next || *next > most_offset(header_.version)) return too_large(one);
        one.begin = *next;
        next = checked_add(*next, *bytes);
        first = false;
      }
    }
    if (!next || !cdf_file_bytes(header_, header_.records.value_or(0))) {
      return invalid_argument("the arrays of this file end beyond 2^63 bytes");
    }
    return {};
  }

  [[nodiscard]] Error too_large(const CdfVariable& one) const {
    return invalid_argument(
        fmt::format("array \"{}\" or its place in the file is too large for CDF-{}{}", one.name,
                    header_.version, header_.version < 5 ? "; use CDF-5" : ""));
  }

  const FileDescription& file_;
  CdfHeader header_;
  std::map<std::string, std::int64_t> numbers_;
  std::string record_name_;
};

// ---- Header to maps ---------------------------------------------------------------------------

struct RecordRoom {
  std::int64_t records = 0;
  std::int64_t stride = 0;
};

// Adds a variable's map, or returns the reason why it cannot be moved. A variable whose data end
// beyond the end of the file is accepted: the existing data can be read, and reading the rest
// fails.
std::optional<std::string> add_array(const CdfHeader& header, const CdfVariable& one,
                                     const std::string& path, const RecordRoom& room,
                                     FileMap& map) {
  if (one.dimensions.size() > static_cast<std::size_t>(array::max_dimensions)) {
    return fmt::format("it has {} dimensions, but Weir reads at most {}", one.dimensions.size(),
                       array::max_dimensions);
  }
  const bool record = header.is_record(one);
  array::Indices extents;
  std::vector<std::string> names;
  for (const std::int64_t number : one.dimensions) {
    const CdfDimension& dimension = header.dimensions[static_cast<std::size_t>(number)];
    extents.push_back(dimension.length == 0 ? room.records : dimension.length);
    names.push_back(dimension.name);
  }
  const bool is_scalar = extents.empty();
  if (is_scalar) extents.push_back(1);
  const auto shape = array::Shape::create(extents);
  if (!shape) return shape.error().message;
  const array::ElementType type = element_type(one.type);
  const auto bytes = header.data_bytes(one);
  if (!bytes || !shape.value().bytes(type)) return "its size does not fit into 63 bits";
  if (one.begin < header.bytes) return "its data lie inside the header";
  const std::int64_t before_last = record ? std::max<std::int64_t>(0, room.records - 1) : 0;
  const auto last = checked_multiply(before_last, room.stride);
  auto end = last ? checked_add(*last, one.begin) : last;
  if (end) end = checked_add(*end, record && room.records == 0 ? 0 : *bytes);
  if (!end && shape.value().elements() > 0) return "its data end beyond 2^63 bytes";
  StoredArray made{{.name = one.name,
                    .shape = shape.value(),
                    .type = type,
                    .is_scalar = is_scalar,
                    .grows = record,
                    .dimension_names = std::move(names)},
                   {.shape = shape.value(),
                    .type = type,
                    .byte_order = type.bytes() == 1 ? ByteOrder::little : ByteOrder::big,
                    .files = DataFiles::one(path),
                    .extents = DenseExtents{one.begin}}};
  if (record) made.map.extents = RecordExtents{one.begin, room.stride};
  for (const CdfAttribute& attribute : one.attributes) {
    made.description.attributes.push_back(decode_cdf_attribute(attribute));
  }
  made.description.fill = fill_by_attribute(made.description);
  map.arrays.push_back(std::move(made));
  return std::nullopt;
}

}  // namespace

Result<CdfHeader> cdf_header_of(const FileDescription& file, int version) {
  return HeaderMaker(file, version).make();
}

std::optional<std::int64_t> cdf_data_end(const CdfHeader& header, std::int64_t records) {
  const auto stride = header.record_stride();
  if (!stride) return std::nullopt;
  std::int64_t end = header.bytes;
  for (const CdfVariable& one : header.variables) {
    const auto bytes = header.data_bytes(one);
    auto last = header.is_record(one)
                    ? checked_multiply(*stride, std::max<std::int64_t>(0, records - 1))
                    : std::optional<std::int64_t>(0);
    if (last) last = checked_add(*last, one.begin);
    if (last && bytes) last = checked_add(*last, *bytes);
    if (!last || !bytes) return std::nullopt;
    if (!header.is_record(one) || records > 0) end = std::max(end, *last);
  }
  return end;
}

std::optional<std::int64_t> cdf_file_bytes(const CdfHeader& header, std::int64_t records) {
  const auto end = cdf_data_end(header, records);
  return end ? checked_round_up(*end, 4) : end;
}

Status add_to_cdf_header(const Additions& added, std::int64_t file_bytes, CdfHeader& header) {
  FileDescription file{.arrays = added.arrays};
  std::vector<GroupDescription> of_variables;
  for (const GroupDescription& one : added.attributes) {
    (one.name.empty() ? file.groups : of_variables).push_back(one);
  }
  auto larger = HeaderMaker(file, header).make_larger(of_variables, file_bytes);
  if (!larger) return larger.error();
  header = std::move(larger).value();
  return {};
}

FileMap cdf_map_of(const CdfHeader& header, const std::string& path, std::int64_t file_bytes) {
  FileMap map;
  const auto stride = header.record_stride();
  RecordRoom room{0, stride.value_or(0)};
  if (header.records) {
    room.records = *header.records;
  } else if (room.stride > 0) {
    // There are as many records as the file has room for.
    std::int64_t first = INT64_MAX;
    for (const CdfVariable& one : header.variables) {
      if (header.is_record(one)) first = std::min(first, one.begin);
    }
    room.records = std::max<std::int64_t>(0, file_bytes - first) / room.stride;
  }
  for (const CdfVariable& one : header.variables) {
    std::optional<std::string> reason;
    if (header.is_record(one) && !stride) {
      reason = "its records do not fit into 63 bits";
    } else {
      reason = add_array(header, one, path, room, map);
    }
    if (reason) map.refused.push_back({one.name, *std::move(reason)});
  }
  GroupDescription root{"", {}};
  for (const CdfAttribute& attribute : header.attributes) {
    root.attributes.push_back(decode_cdf_attribute(attribute));
  }
  if (!root.attributes.empty()) map.groups.push_back(std::move(root));
  return map;
}

}  // namespace weir::storage
