// A payload that costs nothing between two transfers and still identifies the position of every
// page.
//
// A buffer holds the same body in every transfer: the words of a payload stream (payload.hpp) by
// their place in the transfer. Only the stamps are rewritten before each transfer. A stamp is the
// transfer's first word and every 512th word after it, thus one in every 4096 bytes, which is a
// page of the file if transfers are whole pages. It is the stream's word for that place in that
// file and generation, and can be inverted to it. One store per page is a thousandth of the work of
// moving the page. Therefore nothing must be prepared outside the timed part, during which the
// storage would continue to work unobserved.
//
// A reader of a file knows what each of its bytes must be, whatever interface wrote it and in
// whatever order. Stamps reveal pages that were exchanged, lost, stale or never written; the body
// reveals damage inside a page.
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

  // Fills a buffer for transfers with the body.
  void fill_body(std::byte* buffer) const;

  // The stamps of one file in one generation: the part of the payload that differs between writes.
  class Stamps {
   public:
    Stamps(const StampedPayload& payload, std::uint32_t file, std::uint32_t generation);
    // Writes the stamps of the transfer at `offset` over the body.
    void stamp(std::byte* buffer, std::int64_t offset) const;
    // Returns whether all stamps are right. Reads nothing else, for use between two timed reads.
    [[nodiscard]] bool right(const std::byte* buffer, std::int64_t offset) const;
    // Compares every byte. Returns nothing if all are right, otherwise the explanation of the first
    // wrong page.
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
