// Checking has two speeds: blocks are compared as a whole, and only a block that differs is
// examined word by word. A wrong word gets the explanation that fits it. The explanation then
// extends over the following wrong words as far as it predicts them, and these form one mismatch.
#include "measurement/payload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "measurement/payload_words.hpp"

namespace weir::bench {
namespace {

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

// Words compared at once. A difference costs the separate examination of at most this many words.
constexpr std::size_t verified_block_words = 16 * payload_page_words;

// A pattern under an unknown key explains its first word by construction. It is credible only if
// words at this many further source positions also fit.
constexpr std::uint64_t evidence_words = 3;

// Two explanations of the same word are compared by so many words.
constexpr std::size_t horizon_words = 4 * payload_page_words;

struct Explanation {
  PayloadErrorKind kind = PayloadErrorKind::foreign;
  // For swapped_block and stale_data: the word at position p is the pattern's at p + shift
  // (modulo 2^64, so that a shift towards the start of the file is a large number).
  std::optional<PayloadPattern> pattern = std::nullopt;
  std::uint64_t shift = 0;
  std::optional<PayloadStream> stream = std::nullopt;  // the stream of the pattern, if known
};

class Examination {
 public:
  Examination(const PayloadStream& stream, std::uint64_t first_word,
              std::span<const std::uint64_t> words, std::span<const PayloadStream> earlier,
              std::uint64_t file_words)
      : stream_(stream),
        pattern_(stream),
        first_(first_word),
        words_(words),
        file_words_(file_words) {
    for (const PayloadStream& other : earlier) known_.emplace_back(other, PayloadPattern(other));
    known_.emplace_back(stream, pattern_);
  }

  [[nodiscard]] std::vector<PayloadMismatch> mismatches(std::size_t most) const {
    std::vector<PayloadMismatch> found;
    std::size_t at = next_wrong(0);
    while (at < words_.size()) {
      const Explanation explanation = explain(at);
      const std::size_t end = end_of_run(at, explanation);
      found.push_back(describe(at, end, explanation));
      at = next_wrong(end);
      if (found.size() >= most) {
        found.back().bytes_wrong += word_bytes * count_wrong(at);
        break;
      }
    }
    return found;
  }

 private:
  [[nodiscard]] std::uint64_t position(std::size_t at) const { return first_ + at; }
  [[nodiscard]] std::uint64_t expected(std::size_t at) const {
    return pattern_.word_at(position(at));
  }
  [[nodiscard]] bool wrong(std::size_t at) const { return words_[at] != expected(at); }

  // Returns the first wrong word from `at` on, or the number of words if there is none.
  [[nodiscard]] std::size_t next_wrong(std::size_t at) const {
    while (at < words_.size()) {
      const std::size_t end = std::min(words_.size(), at + verified_block_words);
      if (pattern_.differs(position(at), words_.subspan(at, end - at))) {
        while (!wrong(at)) ++at;
        return at;
      }
      at = end;
    }
    return words_.size();
  }

  [[nodiscard]] std::uint64_t count_wrong(std::size_t at) const {
    std::uint64_t count = 0;
    for (; at < words_.size(); ++at) count += wrong(at) ? 1 : 0;
    return count;
  }

  [[nodiscard]] bool follows(std::size_t at, const PayloadPattern& pattern,
                             std::uint64_t shift) const {
    return words_[at] == pattern.word_at(position(at) + shift);
  }

  [[nodiscard]] std::size_t length_followed(std::size_t at, const PayloadPattern& pattern,
                                            std::uint64_t shift) const {
    const std::size_t end = std::min(words_.size(), at + horizon_words);
    std::size_t next = at;
    while (next < end && follows(next, pattern, shift)) ++next;
    return next - at;
  }

  [[nodiscard]] Explanation explain(std::size_t at) const {
    if (words_[at] == 0) return {.kind = PayloadErrorKind::zeros};
    if (std::popcount(words_[at] ^ expected(at)) == 1) {
      return {.kind = PayloadErrorKind::flipped_bit};
    }
    if (auto known = from_known_stream(at)) return *known;
    if (auto unknown = from_unknown_stream(at)) return *unknown;
    return {.kind = PayloadErrorKind::foreign};
  }

  // Returns the stream and the position within the file for which the word at `at` was made. If
  // pages repeat their first word, that word identifies only its page. Both its own position and
  // the same position in its page are then tried, and the one that explains more of the following
  // words is taken.
  [[nodiscard]] std::optional<Explanation> from_known_stream(std::size_t at) const {
    std::optional<Explanation> best;
    std::size_t best_length = 0;
    for (const auto& [stream, pattern] : known_) {
      const std::uint64_t made_for = pattern.position_made_for(words_[at]);
      if (made_for >= file_words_) continue;
      const bool tells_only_its_page =
          pattern.repeats_words() && made_for % payload_page_words == 0;
      const std::uint64_t within = position(at) % payload_page_words;
      for (const std::uint64_t target : {made_for, made_for + within}) {
        if (target != made_for && !tells_only_its_page) continue;
        const std::uint64_t shift = target - position(at);
        const std::size_t length = length_followed(at, pattern, shift);
        if (target >= file_words_ || length <= best_length) continue;
        best_length = length;
        best = Explanation{.kind = stream == stream_ ? PayloadErrorKind::swapped_block
                                                     : PayloadErrorKind::stale_data,
                           .pattern = pattern,
                           .shift = shift,
                           .stream = stream};
      }
    }
    return best;
  }

  // Consecutive words whose inverse images differ by golden are payload, whatever their key.
  [[nodiscard]] std::optional<Explanation> from_unknown_stream(std::size_t at) const {
    const PayloadPattern pattern = pattern_.through(words_[at], position(at));
    const std::size_t end = at + length_followed(at, pattern, 0);
    std::uint64_t sources = 0;
    for (std::size_t next = at + 1; next < end && sources < evidence_words; ++next) {
      if (pattern.source_of(position(next)) != pattern.source_of(position(next - 1)) &&
          pattern.source_of(position(next)) != pattern.source_of(position(at))) {
        ++sources;
      }
    }
    if (sources < evidence_words) return std::nullopt;
    return Explanation{.kind = PayloadErrorKind::stale_data, .pattern = pattern};
  }

  [[nodiscard]] std::size_t end_of_run(std::size_t at, const Explanation& explanation) const {
    std::size_t next = at + 1;
    const auto extend_while = [&](const auto& explained) {
      while (next < words_.size() && wrong(next) && explained(next)) ++next;
    };
    switch (explanation.kind) {
      case PayloadErrorKind::flipped_bit:
        break;
      case PayloadErrorKind::zeros:
        extend_while([&](std::size_t i) { return words_[i] == 0; });
        break;
      case PayloadErrorKind::swapped_block:
      case PayloadErrorKind::stale_data:
        extend_while(
            [&](std::size_t i) { return follows(i, *explanation.pattern, explanation.shift); });
        break;
      case PayloadErrorKind::foreign:
        extend_while([&](std::size_t i) { return explain(i).kind == PayloadErrorKind::foreign; });
        break;
    }
    return next;
  }

  // Words that are explained together are wrong as a whole, even where a byte happens to agree. A
  // flipped bit and foreign data are exact to the byte.
  [[nodiscard]] PayloadMismatch describe(std::size_t at, std::size_t end,
                                         const Explanation& explanation) const {
    PayloadMismatch mismatch;
    mismatch.kind = explanation.kind;
    mismatch.text = text_of(at, explanation);
    std::uint64_t first_byte = position(at) * word_bytes;
    std::uint64_t end_byte = position(end) * word_bytes;
    if (explanation.kind == PayloadErrorKind::flipped_bit ||
        explanation.kind == PayloadErrorKind::foreign) {
      while (byte_agrees(first_byte)) ++first_byte;
      while (byte_agrees(end_byte - 1)) --end_byte;
    }
    mismatch.first_byte = first_byte;
    mismatch.bytes_wrong = end_byte - first_byte;
    return mismatch;
  }

  [[nodiscard]] std::string text_of(std::size_t at, const Explanation& explanation) const {
    switch (explanation.kind) {
      case PayloadErrorKind::flipped_bit:
        return fmt::format("bit {} is flipped", std::countr_zero(words_[at] ^ expected(at)) % 8);
      case PayloadErrorKind::zeros:
        return "zeros: the data was never written, or it was lost";
      case PayloadErrorKind::swapped_block:
        return fmt::format("the data belongs at offset {}",
                           (position(at) + explanation.shift) * word_bytes);
      case PayloadErrorKind::stale_data:
        return origin_text(at, explanation);
      case PayloadErrorKind::foreign:
        break;
    }
    return fmt::format("this is not a payload: word {:#018x} instead of {:#018x}", words_[at],
                       expected(at));
  }

  [[nodiscard]] std::string origin_text(std::size_t at, const Explanation& explanation) const {
    if (!explanation.stream) return "payload with an unknown key: data of another run";
    const PayloadStream& stream = *explanation.stream;
    std::string text = fmt::format("data of generation {}", stream.generation);
    if (stream.file != stream_.file) text += fmt::format(" of file {}", stream.file);
    if (stream.seed != stream_.seed)
      text += fmt::format(" of the run with seed {:#x}", stream.seed);
    if (explanation.shift != 0) {
      text += fmt::format(", made for offset {}", (position(at) + explanation.shift) * word_bytes);
    }
    return text;
  }

  [[nodiscard]] bool byte_agrees(std::uint64_t byte) const {
    const std::size_t at = byte / word_bytes - first_;
    const std::uint64_t place = byte % word_bytes;
    const std::uint64_t significance =
        std::endian::native == std::endian::little ? place : word_bytes - 1 - place;
    return (((words_[at] ^ expected(at)) >> (8 * significance)) & 0xffU) == 0;
  }

  const PayloadStream& stream_;
  PayloadPattern pattern_;
  std::uint64_t first_;
  std::span<const std::uint64_t> words_;
  std::vector<std::pair<PayloadStream, PayloadPattern>> known_;  // earlier streams, then this one
  std::uint64_t file_words_;
};

}  // namespace

void fill_payload(const PayloadStream& stream, std::uint64_t first_word,
                  std::span<std::uint64_t> words) {
  PayloadPattern(stream).fill(first_word, words);
}

std::vector<PayloadMismatch> check_payload(const PayloadStream& stream, std::uint64_t first_word,
                                           std::span<const std::uint64_t> words,
                                           std::span<const PayloadStream> earlier,
                                           std::uint64_t file_words, std::size_t most) {
  return Examination(stream, first_word, words, earlier, file_words)
      .mismatches(std::max<std::size_t>(most, 1));
}

const char* name_of(PayloadErrorKind kind) {
  switch (kind) {
    case PayloadErrorKind::flipped_bit:
      return "flipped_bit";
    case PayloadErrorKind::swapped_block:
      return "swapped_block";
    case PayloadErrorKind::stale_data:
      return "stale_data";
    case PayloadErrorKind::zeros:
      return "zeros";
    case PayloadErrorKind::foreign:
      return "foreign";
  }
  return "foreign";
}

}  // namespace weir::bench
