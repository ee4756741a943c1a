#include "transport/ucx_piece.hpp"

#include <algorithm>

#include "common/crc32c.hpp"
#include "common/numbers_in_bytes.hpp"

namespace weir::transport {
namespace {

constexpr std::size_t checksum_at = 16 + 8 + 1 + 8 + 8;

}  // namespace

UcxHeader header_of(const UcxPiece& piece) {
  UcxHeader header{};
  const std::span<std::byte> to(header);
  std::ranges::copy(piece.token, header.begin());
  storage::put_number(to, 16, piece.block);
  storage::put_number(to, 24, std::uint8_t{piece.at_end});
  storage::put_number(to, 25, piece.before);
  storage::put_number(to, 33, piece.total);
  storage::put_number(to, checksum_at, piece.checksum);
  return header;
}

std::optional<UcxPiece> piece_of(std::span<const std::byte> header) {
  if (header.size() != std::tuple_size_v<UcxHeader>) return std::nullopt;
  UcxPiece piece;
  std::ranges::copy(header.first(piece.token.size()), piece.token.begin());
  piece.block = storage::number_at<std::int64_t>(header, 16);
  const auto at_end = storage::number_at<std::uint8_t>(header, 24);
  piece.at_end = at_end == 1;
  piece.before = storage::number_at<std::int64_t>(header, 25);
  piece.total = storage::number_at<std::int64_t>(header, 33);
  piece.checksum = storage::number_at<std::uint32_t>(header, checksum_at);
  return at_end > 1 ? std::nullopt : std::optional(piece);
}

std::uint32_t checksum_of(const UcxPiece& piece, std::span<const std::byte> bytes) {
  const UcxHeader header = header_of(piece);
  return storage::crc32c(bytes, storage::crc32c(std::span(header).first<checksum_at>()));
}

}  // namespace weir::transport
