// The payload: data that prove where they belong.
//
// Every 8-byte word is a function of (seed, file, generation, position): word i of a stream is
// mix(key + i * golden), with key drawn from (seed, file, generation) and mix a bijection of 64-bit
// words. Being a bijection it can be inverted: a wrong word tells which position, and with the keys
// of earlier generations which time, it was made for, so that swapped blocks and stale data are
// told apart from damage. `generation` counts every rewriting of a place within one run (repetition
// and function); `file` numbers the run's files; the seed differs from run to run.
//
// compressible: of every 4096-byte page, the last `compressible` percent of its words are
// zero-entropy (they repeat the page's first word), so a compressor gets about that share.
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
  std::uint32_t generation = 0;  // rewriting of this file's bytes within the run
  int compressible_percent = 0;  // 0 to 100

  friend bool operator==(const PayloadStream&, const PayloadStream&) = default;
};

// Fills `words` with the stream's words from position `first_word` (8-byte words from the start of
// the file). Runs at memory speed.
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
  std::uint64_t first_byte = 0;   // offset of the first wrong byte in the file
  std::uint64_t bytes_wrong = 0;  // of this run; the last of `most` counts all that follow it too
  std::string text;  // what was found: "bit 3 flipped", "belongs at offset 1048576", …
};

// Compares `words` with the stream from `first_word` on. Returns nothing when all are right;
// otherwise one mismatch per contiguous run of wrong words with one explanation, at most `most` (at
// least 1). `earlier` are streams that this place may have held before (they name stale data);
// `file_words` bounds the positions that a swapped block can come from.
std::vector<PayloadMismatch> check_payload(const PayloadStream& stream, std::uint64_t first_word,
                                           std::span<const std::uint64_t> words,
                                           std::span<const PayloadStream> earlier,
                                           std::uint64_t file_words, std::size_t most = 8);

[[nodiscard]] const char* name_of(PayloadErrorKind kind);  // as run.json spells it

}  // namespace weir::bench
