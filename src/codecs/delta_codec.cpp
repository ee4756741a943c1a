// numcodecs' filter delta: the first number of a chunk, then the difference of each number from the
// previous one, possibly in a different type. Sums of integers wrap around like NumPy's.
#include <cstdint>
#include <type_traits>

#include "codecs/codec_steps.hpp"
#include "common/numbers_in_bytes.hpp"

namespace weir::storage {
namespace {

using array::ElementKind;

// Calls call(Number()) for the type. Returns false if the codec does not support the type.
template <typename Call>
bool with_number(ElementKind kind, const Call& call) {
  switch (kind) {
    // NOLINTNEXTLINE(bugprone-branch-clone): each branch calls with another type
    case ElementKind::int8:
      return call(std::int8_t()), true;
    case ElementKind::int16:
      return call(std::int16_t()), true;
    case ElementKind::int32:
      return call(std::int32_t()), true;
    case ElementKind::int64:
      return call(std::int64_t()), true;
    case ElementKind::uint8:
      return call(std::uint8_t()), true;
    case ElementKind::uint16:
      return call(std::uint16_t()), true;
    case ElementKind::uint32:
      return call(std::uint32_t()), true;
    case ElementKind::uint64:
      return call(std::uint64_t()), true;
    case ElementKind::float32:
      return call(float()), true;
    case ElementKind::float64:
      return call(double()), true;
    default:
      return false;
  }
}

// The type in which sums and differences of numbers are computed. Integers wrap around.
template <typename Number>
using SumOf = std::conditional_t<std::is_floating_point_v<Number>, Number, std::uint64_t>;

}  // namespace

bool has_delta(ElementKind kind) {
  return with_number(kind, [](auto /*number*/) {});
}

Result<std::int64_t> encode_step(const DeltaCodec& codec, const CodecStep& step, ConstBytes from,
                                 Bytes to) {
  std::int64_t written = 0;
  with_number(step.form.type.kind(), [&]<typename Number>(Number /*type*/) {
    with_number(codec.stored_kind(step.form), [&]<typename Stored>(Stored /*type*/) {
      using Sum = SumOf<Number>;
      const std::size_t count = from.size() / sizeof(Number);
      Sum before = 0;
      for (std::size_t i = 0; i < count; ++i) {
        // NOLINTNEXTLINE(bugprone-signed-char-misuse): the sign is to be extended
        const auto now = static_cast<Sum>(number_at<Number>(from, i * sizeof(Number)));
        put_number(to, i * sizeof(Stored), static_cast<Stored>(static_cast<Number>(now - before)));
        before = now;
      }
      written = static_cast<std::int64_t>(count * sizeof(Stored));
    });
  });
  return written;
}

Result<std::int64_t> decode_step(const DeltaCodec& codec, const CodecStep& step, ConstBytes from,
                                 Bytes to) {
  std::int64_t written = -1;
  with_number(step.form.type.kind(), [&]<typename Number>(Number /*type*/) {
    with_number(codec.stored_kind(step.form), [&]<typename Stored>(Stored /*type*/) {
      using Sum = SumOf<Number>;
      const std::size_t count = from.size() / sizeof(Stored);
      if (from.size() % sizeof(Stored) != 0 || count > to.size() / sizeof(Number)) return;
      Sum sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        // NOLINTNEXTLINE(bugprone-signed-char-misuse): the sign is to be extended
        sum += static_cast<Sum>(number_at<Stored>(from, i * sizeof(Stored)));
        put_number(to, i * sizeof(Number), static_cast<Number>(sum));
      }
      written = static_cast<std::int64_t>(count * sizeof(Number));
    });
  });
  if (written < 0) return undecodable("delta", "its length differs from that of the chunk");
  return written;
}

}  // namespace weir::storage
