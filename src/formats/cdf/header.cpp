#include "formats/cdf/header.hpp"

#include <array>

#include "common/checked.hpp"
#include "common/numbers_in_bytes.hpp"

namespace weir::storage {
namespace {

using array::ElementKind;

struct Known {
  CdfType type;
  ElementKind kind;
  std::int64_t bytes;
};

constexpr std::array<Known, 10> numbers = {{{CdfType::int8, ElementKind::int8, 1},
                                            {CdfType::int16, ElementKind::int16, 2},
                                            {CdfType::int32, ElementKind::int32, 4},
                                            {CdfType::float32, ElementKind::float32, 4},
                                            {CdfType::float64, ElementKind::float64, 8},
                                            {CdfType::uint8, ElementKind::uint8, 1},
                                            {CdfType::uint16, ElementKind::uint16, 2},
                                            {CdfType::uint32, ElementKind::uint32, 4},
                                            {CdfType::int64, ElementKind::int64, 8},
                                            {CdfType::uint64, ElementKind::uint64, 8}}};

// Writes one header. The version determines the widths of its numbers.
class Encoder {
 public:
  explicit Encoder(int version) : version_(version) {}

  std::vector<std::byte> take() { return std::move(bytes_); }

  void begin() {
    for (const char c : {'C', 'D', 'F', static_cast<char>(version_)}) {
      bytes_.push_back(static_cast<std::byte>(c));
    }
  }
  void count(std::int64_t number) {
    if (version_ == 5) {
      append_big_endian(bytes_, number);
    } else {
      append_big_endian(bytes_, static_cast<std::uint32_t>(number));
    }
  }
  void offset(std::int64_t number) {
    if (version_ == 1) {
      append_big_endian(bytes_, static_cast<std::int32_t>(number));
    } else {
      append_big_endian(bytes_, number);
    }
  }
  void list(std::uint32_t tag, std::size_t entries) {
    append_big_endian(bytes_, entries == 0 ? 0U : tag);
    count(static_cast<std::int64_t>(entries));
  }
  void type(CdfType type) { append_big_endian(bytes_, static_cast<std::uint32_t>(type)); }
  void name(const std::string& text) {
    count(static_cast<std::int64_t>(text.size()));
    const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), begin, begin + text.size());
    pad_to_four();
  }
  void attributes(const std::vector<CdfAttribute>& attributes) {
    list(0x0C, attributes.size());
    for (const CdfAttribute& one : attributes) {
      name(one.name);
      type(one.type);
      count(static_cast<std::int64_t>(one.values.size()) / bytes_of(one.type));
      bytes_.insert(bytes_.end(), one.values.begin(), one.values.end());
      pad_to_four();
    }
  }

 private:
  void pad_to_four() {
    while (bytes_.size() % 4 != 0) bytes_.push_back(std::byte{0});
  }

  int version_;
  std::vector<std::byte> bytes_;
};

}  // namespace

std::int64_t bytes_of(CdfType type) {
  for (const Known& one : numbers) {
    if (one.type == type) return one.bytes;
  }
  return 1;
}

array::ElementType element_type(CdfType type) {
  for (const Known& one : numbers) {
    if (one.type == type) return one.kind;
  }
  return array::ElementType::text(1).value();
}

std::optional<CdfType> cdf_type(const array::ElementType& type, int version) {
  for (const Known& one : numbers) {
    if (one.kind != type.kind()) continue;
    if (version < 5 && one.type > CdfType::float64) return std::nullopt;
    return one.type;
  }
  const bool is_character = type.kind() == ElementKind::text && type.bytes() == 1;
  return is_character ? std::optional(CdfType::character) : std::nullopt;
}

std::optional<std::int64_t> CdfHeader::data_bytes(const CdfVariable& variable) const {
  std::optional<std::int64_t> data = bytes_of(variable.type);
  for (std::size_t d = is_record(variable) ? 1 : 0; d < variable.dimensions.size(); ++d) {
    const auto number = static_cast<std::size_t>(variable.dimensions[d]);
    if (data) data = checked_multiply(*data, dimensions[number].length);
  }
  return data;
}

std::optional<std::int64_t> CdfHeader::record_stride() const {
  std::optional<std::int64_t> stride = 0;
  std::int64_t record_variables = 0;
  std::int64_t unpadded = 0;
  for (const CdfVariable& one : variables) {
    if (!is_record(one)) continue;
    ++record_variables;
    const auto data = data_bytes(one);
    const auto padded = data ? checked_round_up(*data, 4) : data;
    if (!padded || !stride) return std::nullopt;
    unpadded = *data;
    stride = checked_add(*stride, *padded);
  }
  return record_variables == 1 ? unpadded : stride;
}

std::vector<std::byte> encoded_cdf_records(int version, std::int64_t records) {
  Encoder encoder(version);
  encoder.count(records);
  return encoder.take();
}

std::vector<std::byte> encode_cdf_header(const CdfHeader& header) {
  Encoder encoder(header.version);
  encoder.begin();
  encoder.count(header.records.value_or(0));
  encoder.list(0x0A, header.dimensions.size());
  for (const CdfDimension& one : header.dimensions) {
    encoder.name(one.name);
    encoder.count(one.length);
  }
  encoder.attributes(header.attributes);
  encoder.list(0x0B, header.variables.size());
  for (const CdfVariable& one : header.variables) {
    encoder.name(one.name);
    encoder.count(static_cast<std::int64_t>(one.dimensions.size()));
    for (const std::int64_t dimension : one.dimensions) encoder.count(dimension);
    encoder.attributes(one.attributes);
    encoder.type(one.type);
    encoder.count(checked_round_up(header.data_bytes(one).value_or(0), 4).value_or(0));
    encoder.offset(one.begin);
  }
  return encoder.take();
}

}  // namespace weir::storage
