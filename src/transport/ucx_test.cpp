// Pieces between two workers of this process, over the shared memory of UCX: what arrives, and what
// is refused.
#include "transport/ucx.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "transport/carrier.hpp"

namespace weir::transport {
namespace {

constexpr std::int64_t ucx_block_bytes = std::int64_t{200} << 10;
constexpr std::int64_t deadline_ns = 20'000'000'000;
constexpr UcxReceiver::Client ucx_client = 17;

class Ucx : public testing::Test {
 protected:
  void SetUp() override {
    struct sigaction before {};
    struct sigaction after {};
    ASSERT_EQ(::sigaction(SIGSEGV, nullptr, &before), 0);
    testing::internal::CaptureStdout();
    const auto version = ucx_version();
    auto receiver = UcxReceiver::open();
    auto sender = UcxSender::open();
    const std::string printed = testing::internal::GetCapturedStdout();
    if (!version) GTEST_SKIP() << version.error().text();
    EXPECT_EQ(printed, "");
    ASSERT_EQ(::sigaction(SIGSEGV, nullptr, &after), 0);
    EXPECT_EQ(before.sa_sigaction, after.sa_sigaction) << "UCX has changed a handler";
    ASSERT_TRUE(receiver) << receiver.error().text();
    ASSERT_TRUE(sender) << sender.error().text();
    receiver_ = std::move(receiver).value();
    sender_ = std::move(sender).value();
    auto token = receiver_->attach(ucx_client, sender_->address());
    ASSERT_TRUE(token) << token.error().text();
    token_ = token.value();
    const Status connected = sender_->connect(receiver_->address());
    ASSERT_TRUE(connected.ok()) << connected.error().text();
  }

  // Does with a piece what the stager does (remote_ranks.cpp), without its checks.
  void take(UcxReceiver::Client client, const UcxPiece& piece, std::span<const std::byte> bytes) {
    EXPECT_EQ(client, ucx_client);
    EXPECT_EQ(piece.block, 5);
    std::int64_t& part = piece.at_end ? end_ : begin_;
    EXPECT_EQ(piece.before, part);
    is_whole_ = piece.checksum == checksum_of(piece, bytes);
    const std::int64_t at = piece.at_end ? ucx_block_bytes - part - std::ssize(bytes) : part;
    ASSERT_LE(begin_ + end_ + std::ssize(bytes), ucx_block_bytes);
    std::ranges::copy(bytes, arrived_.begin() + at);
    part += std::ssize(bytes);
    if (begin_ + end_ == piece.total) told_ = piece.total;
    ++pieces_;
  }
  void serve() {
    for (const auto client : receiver_->progress(
             [&](auto client, const auto&piece, auto bytes) { take(client, piece, bytes); })) {
      lost_.insert(client);
    }
  }
  void serve_until(const std::function<bool()>& done) {
    for (const std::int64_t end_ns = monotonic_ns() + deadline_ns; !done();) {
      ASSERT_LT(monotonic_ns(), end_ns);
      serve();
      if (sender_ != nullptr) (void)sender_->progress();
    }
  }
  void send(const Nonce& token, std::int64_t bytes) {
    const std::vector<std::byte> some(static_cast<std::size_t>(bytes), std::byte{7});
    ASSERT_TRUE(sender_->send({.token = token, .block = 5, .total = bytes}, some).ok());
    serve_until([&] { return sender_->unsent() == 0; });
  }

  std::unique_ptr<UcxReceiver> receiver_;
  std::unique_ptr<UcxSender> sender_;
  Nonce token_{};
  std::vector<std::byte> arrived_ = std::vector<std::byte>(ucx_block_bytes, std::byte{0x55});
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  std::optional<std::int64_t> told_;
  int pieces_ = 0;
  bool is_whole_ = false;  // the last piece
  std::set<UcxReceiver::Client> lost_;
};

TEST_F(Ucx, BringsWhatIsInABlock) {
  const auto carrier = make_ucx_carrier(
      {.blocks = 8, .block_bytes = ucx_block_bytes, .stager = "s"}, token_, std::move(sender_),
      [&](std::int64_t block, int, std::int64_t, bool) -> Result<std::optional<std::int64_t>> {
        EXPECT_EQ(block, 5);
        serve();
        return std::exchange(told_, std::nullopt);
      });
  // Extents of a byte, whose table is longer than a piece, and an extent that fills the block.
  for (const std::int64_t longest : {std::int64_t{1}, ucx_block_bytes - extent_bytes}) {
    begin_ = end_ = 0;
    BlockWriter filled(carrier->begin(5));
    std::vector<std::byte> data(static_cast<std::size_t>(longest));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 31 % 251);
    const storage::Slice slice{data.data(), longest};
    std::int64_t offset = 0;
    while (filled.add(1, offset, {&slice, 1}, 0) > 0) offset += longest + 1;
    ASSERT_GT(filled.extents(), 0);
    const Status brought = carrier->bring(5, filled);
    ASSERT_TRUE(brought.ok()) << brought.error().text();
    EXPECT_TRUE(is_whole_);
    EXPECT_EQ(begin_, std::ssize(filled.data()));
    EXPECT_EQ(end_, std::ssize(filled.table()));
    EXPECT_TRUE(std::equal(filled.data().begin(), filled.data().end(), arrived_.begin()));
    EXPECT_TRUE(std::equal(filled.table().begin(), filled.table().end(), arrived_.end() - end_));
  }
}

TEST_F(Ucx, ChecksumsTellDamagedPieces) {
  std::vector<std::byte> bytes(1000, std::byte{7});
  UcxPiece piece{.token = token_, .block = 5, .total = 1000};
  piece.checksum = checksum_of(piece, bytes);
  bytes[999] ^= std::byte{1};
  ASSERT_TRUE(sender_->send(piece, bytes).ok());
  serve_until([&] { return pieces_ == 1 && sender_->unsent() == 0; });
  EXPECT_FALSE(is_whole_);
  begin_ = 0;
  bytes[999] ^= std::byte{1};
  ASSERT_TRUE(sender_->send(piece, bytes).ok());
  serve_until([&] { return pieces_ == 2; });
  EXPECT_TRUE(is_whole_);
}

TEST_F(Ucx, TakesNothingWithoutTheToken) {
  Nonce wrong = token_;
  wrong[15] ^= std::byte{1};
  send(wrong, 1000);
  send({}, 100'000);
  send(token_, 10);  // behind them
  serve_until([&] { return told_.has_value(); });
  EXPECT_EQ(pieces_, 1);
  EXPECT_EQ(begin_, 10);
}

TEST_F(Ucx, TakesNothingFromWhoHasLeft) {
  send(token_, 10);
  serve_until([&] { return pieces_ == 1; });
  receiver_->detach(ucx_client);
  receiver_->detach(ucx_client);
  const std::vector<std::byte> some(1000, std::byte{7});
  (void)sender_->send({.token = token_, .block = 5, .total = 1000}, some);
  for (int i = 0; i < 1000; ++i) {
    serve();
    (void)sender_->progress();
  }
  EXPECT_EQ(pieces_, 1);
}

TEST_F(Ucx, SleepsUntilThereIsSomething) {
  serve_until([&] { return receiver_->arm(); });
  const std::vector<std::byte> some(1000, std::byte{7});
  ASSERT_TRUE(sender_->send({.token = token_, .block = 5, .total = 1000}, some).ok());
  pollfd one{receiver_->descriptor(), POLLIN, 0};
  // Both sides have to agree on the way first.
  for (const std::int64_t end_ns = monotonic_ns() + deadline_ns; pieces_ == 0;) {
    ASSERT_LT(monotonic_ns(), end_ns);
    (void)sender_->progress();
    if (receiver_->arm()) {
      (void)::poll(&one, 1, 100);
    }
    serve();
  }
  EXPECT_EQ(begin_, 1000);
}

TEST_F(Ucx, RefusesAnEmptyAddress) {
  EXPECT_FALSE(receiver_->attach(ucx_client + 1, {}).ok());
  EXPECT_FALSE(sender_->connect({}).ok());
}

}  // namespace
}  // namespace weir::transport
