// A payload that costs nothing between two transfers and still proves where every page belongs.
//
// A buffer holds the same body in every transfer: the words of a payload stream (payload.hpp) by
// their place in the transfer. Only the stamps are written anew before each transfer: its first
// word and every 512th after it (every 4096 bytes: a page of the file, where transfers are whole
// pages) is the word of the stream for that place in that file in that generation, and can be
// inverted to it. One store per page is a thousandth of the work of moving the page, so nothing has
// to be prepared outside the timed part, where the storage would go on working unobserved.
//
// Whatever reads a file knows what each of its bytes must be, whichever interface wrote it, in
// whichever order. Pages exchanged, lost, stale or never written are told by their stamps; damage
// inside a page by its body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "measurement/payload.hpp"
#include "measurement/payload_words.hpp"

namespace weir::bench::stream {

class StampedPayload {
 public:
  // The payload of transfers of `transfer_bytes`, a multiple of 8, that start at multiples of it in
  // the file. The body is the same for all files and generations of a seed.
  StampedPayload(std::uint64_t seed, int compressible_percent, std::int64_t transfer_bytes);

  // The body into a buffer that will hold transfers.
  void fill_body(std::byte* buffer) const;

  // The stamps of one file in one generation, which is what differs between writes.
  class Stamps {
   public:
    Stamps(const StampedPayload& payload, std::uint32_t file, std::uint32_t generation);
    // Writes the stamps of the transfer at `offset` over the body.
    void stamp(std::byte* buffer, std::int64_t offset) const;
    // Whether all stamps are right. Looks at nothing else: for between two timed reads.
    [[nodiscard]] bool right(const std::byte* buffer, std::int64_t offset) const;
    // Every byte. Nothing when all are right, otherwise what the first wrong page tells.
    [[nodiscard]] std::optional<PayloadMismatch> check(const std::byte* buffer, std::int64_t offset,
                                                       std::int64_t file_bytes) const;

   private:
    [[nodiscard]] PayloadMismatch explain(const std::byte* buffer, std::int64_t offset,
                                          std::size_t begin, std::size_t length,
                                          std::int64_t file_bytes) const;

    const StampedPayload& payload_;
    PayloadStream stream_;
    PayloadPattern pattern_;
  };

 private:
  [[nodiscard]] std::size_t words() const { return body_.size(); }

  std::uint64_t seed_;
  std::vector<std::uint64_t> body_;
};

}  // namespace weir::bench::stream
