// The payload: data that identify the position for which they were made.
//
// Every 8-byte word is a function of (seed, file, generation, position): word i of a stream is
// mix(key + i * golden), with `key` drawn from (seed, file, generation) and `mix` a bijection of
// 64-bit words. A bijection can be inverted, so a wrong word reveals the position for which it was
// made and, with the keys of earlier generations, when it was made. Swapped blocks and stale data
// can thus be distinguished from damage. `generation` counts every rewriting of a place within one
// run (repetition and function), `file` numbers the run's files, and the seed differs from run to
// run.
//
// `compressible_percent`: in every 4096-byte page, this percentage of the words, at the end of the
// page, repeats the page's first word. A compressor thus saves about that share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::bench {

struct PayloadStream {
  std::uint64_t seed = 0;
  std::uint32_t file = 0;        // the run's number for the file
  std::uint32_t generation = 0;  // number of rewritings of the file's bytes within the run
  int compressible_percent = 0;  // 0 to 100

  friend bool operator==(const PayloadStream&, const PayloadStream&) = default;
};

// Fills `words` with the stream's words from position `first_word`, counted in 8-byte words from
// the start of the file. Runs at memory speed.
void fill_payload(const PayloadStream& stream, std::uint64_t first_word,
                  std::span<std::uint64_t> words);

enum class PayloadErrorKind {
  flipped_bit,    // one bit of one word
  swapped_block,  // words of the same stream, made for another position
  stale_data,     // words of an earlier generation of this run, or of another run's payload
  zeros,          // never written
  foreign,        // none of these
};

struct PayloadMismatch {
  PayloadErrorKind kind = PayloadErrorKind::foreign;
  std::uint64_t first_byte = 0;  // offset of the first wrong byte in the file
  // Number of wrong bytes in this contiguous run of words. In the last of `most` mismatches it
  // includes all wrong bytes that follow.
  std::uint64_t bytes_wrong = 0;
  // A description of the mismatch, such as "bit 3 flipped" or "belongs at offset 1048576".
  std::string text;
};

// Compares `words` with the stream from `first_word` on. Returns nothing if all are right.
// Otherwise returns one mismatch per contiguous run of wrong words with a common explanation, at
// most `most` (at least 1). `earlier` are streams that this place may have held before; they
// identify stale data. `file_words` bounds the positions that a swapped block can come from.
std::vector<PayloadMismatch> check_payload(const PayloadStream& stream, std::uint64_t first_word,
                                           std::span<const std::uint64_t> words,
                                           std::span<const PayloadStream> earlier,
                                           std::uint64_t file_words, std::size_t most = 8);

[[nodiscard]] const char* name_of(PayloadErrorKind kind);  // the name in run.json

}  // namespace weir::bench
