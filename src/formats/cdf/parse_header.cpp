#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <utility>

#include "common/numbers_in_bytes.hpp"
#include "formats/cdf/header.hpp"

namespace weir::storage {
namespace {

// Largest number of dimensions, of variables, or of attributes of one of them.
constexpr std::int64_t most_listed = 131072;
constexpr std::int64_t longest_name_bytes = 4096;

// Memory that reading takes, of which a header needs little: a variable without dimensions has 28
// bytes there, an attribute without a name and values 12. Each is copied into a description, whose
// arrays name their dimensions.
constexpr std::int64_t memory_of_variable = 8192;
constexpr std::int64_t memory_of_entry = 384;  // of a dimension, an attribute, a dimension's use
constexpr std::int64_t memory_per_byte = 4;    // of names and values, while lists grow

// Reads a header from front to back. After the first error it returns zeros, so that callers need
// check for errors only before long loops.
class Parser {
 public:
  Parser(std::span<const std::byte> bytes, const std::string& path, std::int64_t most_memory)
      : bytes_(bytes), path_(path), most_memory_(most_memory) {}

  [[nodiscard]] CdfParse parse() {
    CdfHeader header;
    read_beginning(header);
    read_dimensions(header);
    header.attributes = attributes();
    read_variables(header);
    header.bytes = static_cast<std::int64_t>(at_);
    if (failed_) return {std::move(error_), more_wanted_};
    return {std::move(header), false};
  }

 private:
  void refuse(std::string what) {
    if (failed_) return;
    failed_ = true;
    error_ = Error(ErrorCode::corrupt,
                   "this is not a NetCDF file of format CDF-1, 2 or 5: " + std::move(what), path_,
                   static_cast<std::int64_t>(at_));
  }

  void need_memory(std::int64_t bytes) {
    memory_ += bytes;
    if (failed_ || memory_ <= most_memory_) return;
    failed_ = true;
    error_ = Error(ErrorCode::unsupported,
                   fmt::format("reading the NetCDF header takes more than {} bytes of memory: the "
                               "file is damaged, or WEIR_READ_BYTES has to allow more",
                               most_memory_),
                   path_, static_cast<std::int64_t>(at_));
  }

  // Returns null if there are fewer bytes.
  const std::byte* take(std::int64_t count) {
    if (failed_) return nullptr;
    if (count < 0 || static_cast<std::uint64_t>(count) > bytes_.size() - at_) {
      refuse("the file ends inside its header");
      more_wanted_ = true;
      return nullptr;
    }
    const std::byte* const begin = bytes_.data() + at_;
    at_ += static_cast<std::size_t>(count);
    return begin;
  }
  template <typename Number>
  Number number() {
    const std::byte* const from = take(sizeof(Number));
    return from == nullptr ? Number{} : big_endian_at<Number>({from, sizeof(Number)});
  }
  std::int64_t not_negative(std::int64_t value, const char* what) {
    if (value >= 0) return value;
    refuse(fmt::format("{} is negative: {}", what, value));
    return 0;
  }
  // Formats before CDF-5 have signed numbers of 32 bits.
  std::int64_t count(const char* what) {
    return not_negative(version_ == 5 ? number<std::int64_t>() : number<std::int32_t>(), what);
  }
  std::string name() {
    const std::int64_t length = count("the length of a name");
    if (length > longest_name_bytes) refuse(fmt::format("a name has {} bytes", length));
    const std::byte* const from = take(length);
    if (from == nullptr) return {};
    std::string text(reinterpret_cast<const char*>(from), static_cast<std::size_t>(length));
    pad(length);
    need_memory(memory_per_byte * length);
    return text;
  }
  void pad(std::int64_t length) { take((4 - length % 4) % 4); }

  // Returns the number of entries of a list. Each entry has at least a name and a number, so the
  // remaining bytes limit it.
  std::int64_t list(std::uint32_t tag, const char* what) {
    const auto found = number<std::uint32_t>();
    const std::int64_t entries = count("the length of a list");
    if (entries > most_listed) {
      refuse(fmt::format("the list of {} has {} entries, but Weir reads at most {}", what, entries,
                         most_listed));
      return 0;
    }
    if (found == tag || (found == 0 && entries == 0)) return entries;
    refuse(
        fmt::format("the list of {} has the invalid tag {} with {} entries", what, found, entries));
    return 0;
  }

  void read_beginning(CdfHeader& header) {
    const std::byte* const magic = take(4);
    if (magic == nullptr) return;
    version_ = static_cast<int>(magic[3]);
    const bool known = version_ == 1 || version_ == 2 || version_ == 5;
    if (magic[0] != std::byte{'C'} || magic[1] != std::byte{'D'} || magic[2] != std::byte{'F'} ||
        !known) {
      return refuse("it does not begin with \"CDF\" and 1, 2 or 5");
    }
    header.version = version_;
    const auto records = version_ == 5 ? number<std::int64_t>() : number<std::int32_t>();
    // All bits set means that the writer did not know the number.
    header.records = records == -1 ? std::nullopt : std::optional<std::int64_t>(records);
    if (records < -1) not_negative(records, "the number of records");
  }

  void read_dimensions(CdfHeader& header) {
    const std::int64_t entries = list(0x0A, "dimensions");
    bool has_records = false;
    for (std::int64_t i = 0; i < entries && !failed_; ++i) {
      CdfDimension one;
      one.name = name();
      one.length = count("the length of a dimension");
      need_memory(memory_of_entry);
      if (one.length == 0 && !failed_ && std::exchange(has_records, true)) {
        refuse("two dimensions are the record dimension");
      }
      header.dimensions.push_back(std::move(one));
    }
  }

  CdfType type() {
    const auto number_of_type = number<std::uint32_t>();
    const std::uint32_t last = version_ == 5 ? 11 : 6;
    if (number_of_type < 1 || number_of_type > last) {
      refuse(fmt::format("the type {} does not exist", number_of_type));
      return CdfType::character;
    }
    return static_cast<CdfType>(number_of_type);
  }

  std::vector<CdfAttribute> attributes() {
    std::vector<CdfAttribute> list_of_them;
    const std::int64_t entries = list(0x0C, "attributes");
    for (std::int64_t i = 0; i < entries && !failed_; ++i) {
      CdfAttribute one;
      one.name = name();
      one.type = type();
      const std::int64_t values = count("the number of values of an attribute");
      const std::int64_t each = bytes_of(one.type);
      // More values than remaining bytes are refused without multiplying.
      const bool fits = static_cast<std::uint64_t>(values) <= bytes_.size();
      const std::byte* const from = take(fits ? values * each : INT64_MAX);
      if (from == nullptr) break;
      need_memory(memory_of_entry + memory_per_byte * values * each);
      one.values.assign(from, from + values * each);
      pad(values * each);
      list_of_them.push_back(std::move(one));
    }
    return list_of_them;
  }

  void read_variables(CdfHeader& header) {
    const std::int64_t entries = list(0x0B, "variables");
    for (std::int64_t i = 0; i < entries && !failed_; ++i) {
      CdfVariable one;
      one.name = name();
      need_memory(memory_of_variable);
      const std::int64_t dimensions = count("the number of dimensions of a variable");
      for (std::int64_t d = 0; d < dimensions && !failed_; ++d) {
        const std::int64_t number_of_it = count("a dimension's number");
        if (number_of_it >= static_cast<std::int64_t>(header.dimensions.size())) {
          refuse(fmt::format("a variable has dimension {}, but there are {} dimensions",
                             number_of_it, header.dimensions.size()));
          return;
        }
        const auto& dimension = header.dimensions[static_cast<std::size_t>(number_of_it)];
        if (d > 0 && dimension.length == 0) {
          return refuse("the record dimension of a variable is not its first");
        }
        need_memory(memory_of_entry + memory_per_byte * std::ssize(dimension.name));
        one.dimensions.push_back(number_of_it);
      }
      one.attributes = attributes();
      one.type = type();
      // The variable's size follows from its shape. The stored size cannot be trusted if it exceeds
      // 32 bits.
      static_cast<void>(take(version_ == 5 ? 8 : 4));
      one.begin = not_negative(version_ == 1 ? number<std::int32_t>() : number<std::int64_t>(),
                               "the beginning of a variable");
      header.variables.push_back(std::move(one));
    }
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
  std::size_t at_ = 0;
  std::int64_t most_memory_;
  std::int64_t memory_ = 0;
  int version_ = 5;
  bool failed_ = false;
  bool more_wanted_ = false;
  Error error_;
};

}  // namespace

CdfParse parse_cdf_header(std::span<const std::byte> bytes, const std::string& path,
                          std::int64_t most_memory) {
  return Parser(bytes, path, most_memory).parse();
}

}  // namespace weir::storage
