#include "array/copy_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "array/test_random.hpp"

namespace weir::array {
namespace {

constexpr std::size_t cache_line = 64;
using Sizes = std::vector<std::size_t>;

class StreamedBytes : public testing::Test {
 protected:
  static constexpr std::size_t room = 8 << 10;

  StreamedBytes() {
    Random random(17);
    for (auto* const bytes : {&source_, &before_}) {
      for (std::byte& byte : *bytes) byte = static_cast<std::byte>(random.between(0, 255));
    }
  }

  // Copies between places that are so many bytes behind the beginning of a cache line.
  void check(std::size_t from, std::size_t to, std::size_t size) {
    std::copy(before_.begin(), before_.end(), written_.begin());
    const std::size_t start = beginning_of_line(source_) + from;
    const std::size_t there = beginning_of_line(written_) + to;
    stream_bytes(source_.data() + start, written_.data() + there, size);
    end_streaming();
    const auto is_same = [&](std::size_t begin, std::size_t end) {
      return std::memcmp(written_.data() + begin, before_.data() + begin, end - begin) == 0;
    };
    ASSERT_EQ(std::memcmp(written_.data() + there, source_.data() + start, size), 0)
        << size << " bytes from " << from << " to " << to;
    ASSERT_TRUE(is_same(0, there) && is_same(there + size, room))
        << "bytes beside " << size << " at " << to;
  }

 private:
  static std::size_t beginning_of_line(const std::vector<std::byte>& bytes) {
    return cache_line - reinterpret_cast<std::uintptr_t>(bytes.data()) % cache_line;
  }

  std::vector<std::byte> source_ = std::vector<std::byte>(room);
  std::vector<std::byte> before_ = std::vector<std::byte>(room);
  std::vector<std::byte> written_ = std::vector<std::byte>(room);
};

TEST_F(StreamedBytes, ArriveWholeAtEveryPlaceInALine) {
  for (std::size_t to = 0; to < cache_line; ++to) {
    for (std::size_t from = 0; from < cache_line; from += to % 8 == 0 ? 1 : 7) {
      for (const std::size_t size : {least_streamed_bytes, least_streamed_bytes + 1}) {
        check(from, to, size);
      }
    }
  }
}

TEST_F(StreamedBytes, ArriveWholeInEverySize) {
  for (std::size_t size = 0; size <= 2 * least_streamed_bytes + cache_line + 1; ++size) {
    for (const std::size_t to : Sizes{0, 1, 8, 63}) check(3, to, size);
  }
  for (const std::size_t size : Sizes{4095, 4096, 4097}) {
    for (const std::size_t to : Sizes{0, 4, 8, 33}) check(0, to, size);
  }
}

// What follows a piece begins in the line in which the piece ends.
TEST_F(StreamedBytes, ArriveWholeBehindEachOther) {
  for (const std::size_t size : Sizes{520, 1000, 1001, 1024}) {
    std::vector<std::byte> pieces(6 * size);
    std::vector<std::byte> written(pieces.size());
    Random random(18);
    for (std::byte& byte : pieces) byte = static_cast<std::byte>(random.between(0, 255));
    for (std::size_t at = 0; at < pieces.size(); at += size) {
      stream_bytes(pieces.data() + at, written.data() + at, size);
    }
    end_streaming();
    ASSERT_EQ(written, pieces) << "pieces of " << size;
  }
}

}  // namespace
}  // namespace weir::array
