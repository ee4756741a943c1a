// What a transfer in the background does while it is in flight.
//
// To hold a transfer in flight for as long as a test wants, its buffer is memory that has no pages
// yet, registered with userfaultfd: the system call that moves the bytes stops at its first touch
// of a page until the test supplies that page. No test here depends on how fast anything is; times
// are deadlines only.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "common/clock.hpp"
#include "system/test_folder.hpp"
#include "transfers/move.hpp"

namespace weir::storage {
namespace {

constexpr int patience_ms = 30'000;
std::int64_t within_patience() { return monotonic_ns() + std::int64_t{patience_ms} * 1'000'000; }

// Memory whose pages come into being when supply() says so.
class WithheldMemory {
 public:
  explicit WithheldMemory(std::int64_t pages)
      : page_bytes_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
        bytes_(static_cast<std::size_t>(pages) * page_bytes_),
        memory_(
            ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::runtime_error("no memory for the test");
    faults_ = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
    uffdio_api interface {};
    interface.api = UFFD_API;
    uffdio_register range{};
    range.range = {.start = reinterpret_cast<std::uint64_t>(memory_), .len = bytes_};
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    if (faults_ >= 0 && ::ioctl(faults_, UFFDIO_API, &interface) == 0 &&
        ::ioctl(faults_, UFFDIO_REGISTER, &range) == 0) {
      offered_ = true;
    } else {
      refusal_ = std::generic_category().message(errno);
    }
  }
  WithheldMemory(const WithheldMemory&) = delete;
  WithheldMemory& operator=(const WithheldMemory&) = delete;
  ~WithheldMemory() {
    release();
    ::munmap(memory_, bytes_);
  }

  // Makes it ordinary memory; whoever is stopped goes on.
  void release() {
    if (faults_ >= 0) ::close(faults_);
    faults_ = -1;
  }

  [[nodiscard]] bool offered() const { return offered_; }
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(memory_); }
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(bytes_); }

  // Waits until someone is stopped at a missing page.
  [[nodiscard]] bool someone_is_stopped() const {
    pollfd waiting{.fd = faults_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, patience_ms) != 1) return false;
    uffd_msg message{};
    return ::read(faults_, &message, sizeof message) == sizeof message &&
           message.event == UFFD_EVENT_PAGEFAULT;
  }

  // Brings all pages into being with what `source` holds; whoever was stopped goes on.
  [[nodiscard]] bool supply(const std::vector<std::byte>& source) const {
    uffdio_copy copy{};
    copy.dst = reinterpret_cast<std::uint64_t>(memory_);
    copy.src = reinterpret_cast<std::uint64_t>(source.data());
    copy.len = bytes_;
    return ::ioctl(faults_, UFFDIO_COPY, &copy) == 0;
  }

 private:
  std::size_t page_bytes_;
  std::size_t bytes_;
  void* memory_;
  int faults_ = -1;
  bool offered_ = false;
  std::string refusal_;
};

enum class BackgroundKind { uring, thread };

class TransferInFlightTest : public testing::TestWithParam<BackgroundKind> {
 protected:
  static constexpr std::int64_t pages = 4;

  void SetUp() override {
    if (!memory_.offered()) GTEST_SKIP() << "userfaultfd: " << memory_.refusal();
    auto opened = File::open(path_, {.read = true, .write = true, .create = true});
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    file_ = std::make_unique<File>(std::move(opened).value());
    const std::int64_t page_bytes = memory_.bytes() / pages;
    if (GetParam() == BackgroundKind::thread) {
      transfer_ = make_thread_transfer(*file_, page_bytes);
      return;
    }
    auto uring = make_uring_transfer(*file_, page_bytes);
    if (!uring.ok()) GTEST_SKIP() << uring.error().text();
    transfer_ = std::move(uring).value();
  }

  // A test that fails early leaves its transfer stopped.
  void TearDown() override { memory_.release(); }

  [[nodiscard]] TransferRequest request(Direction direction) const {
    return {direction, memory_.data(), memory_.bytes(), 0,
            direction == Direction::write ? Durability::data : Durability::none};
  }

  [[nodiscard]] std::vector<std::byte> filled(int value) const {
    return std::vector<std::byte>(static_cast<std::size_t>(memory_.bytes()),
                                  static_cast<std::byte>(value));
  }

  [[nodiscard]] std::vector<std::byte> contents() const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(memory_.bytes()) + 1);
    const ssize_t count = ::pread(file_->descriptor(), bytes.data(), bytes.size(), 0);
    bytes.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return bytes;
  }

  TestFolder folder_;
  std::string path_ = folder_.path("data");
  WithheldMemory memory_{pages};
  std::unique_ptr<File> file_;
  std::unique_ptr<Transfer> transfer_;
};

TEST_P(TransferInFlightTest, TheCallerGoesOnWhileBytesAreWritten) {
  ASSERT_TRUE(transfer_->start(request(Direction::write)).ok());
  ASSERT_TRUE(memory_.someone_is_stopped());  // in the background: this thread is here
  const Result<bool> polled = transfer_->poll();
  ASSERT_TRUE(polled.ok());
  EXPECT_FALSE(polled.value());

  const std::vector<std::byte> data = filled(0x5a);
  ASSERT_TRUE(memory_.supply(data));
  const Status finished = transfer_->wait(within_patience());
  ASSERT_TRUE(finished.ok()) << finished.error().text();
  EXPECT_TRUE(contents() == data);
}

TEST_P(TransferInFlightTest, TheCallerGoesOnWhileBytesAreRead) {
  const std::vector<std::byte> data = filled(0x33);
  ASSERT_EQ(::pwrite(file_->descriptor(), data.data(), data.size(), 0), memory_.bytes());
  ASSERT_TRUE(transfer_->start(request(Direction::read)).ok());
  ASSERT_TRUE(memory_.someone_is_stopped());
  EXPECT_FALSE(transfer_->poll().value());

  ASSERT_TRUE(memory_.supply(filled(0)));
  ASSERT_TRUE(transfer_->wait(within_patience()).ok());
  EXPECT_EQ(std::memcmp(memory_.data(), data.data(), data.size()), 0);
}

TEST_P(TransferInFlightTest, AWaitPastItsDeadlineFailsAndLeavesTheTransferInFlight) {
  ASSERT_TRUE(transfer_->start(request(Direction::write)).ok());
  ASSERT_TRUE(memory_.someone_is_stopped());
  for (const std::int64_t deadline : {std::int64_t{0}, monotonic_ns() + 2'000'000}) {
    const Status waited = transfer_->wait(deadline);
    ASSERT_FALSE(waited.ok());
    EXPECT_EQ(waited.error().code, ErrorCode::deadline);
    EXPECT_EQ(waited.error().file, path_);
    EXPECT_EQ(waited.error().operation, "write");
    EXPECT_GE(monotonic_ns(), deadline);
  }
  const Status second = transfer_->start(request(Direction::write));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::invalid_argument);

  const std::vector<std::byte> data = filled(0x77);
  ASSERT_TRUE(memory_.supply(data));
  EXPECT_TRUE(transfer_->wait(within_patience()).ok());
  EXPECT_TRUE(contents() == data);
}

// All pieces, not only the first, move without the caller asking after them.
TEST_P(TransferInFlightTest, AllPiecesMoveWithoutTheCaller) {
  ASSERT_TRUE(transfer_->start(request(Direction::write)).ok());
  ASSERT_TRUE(memory_.someone_is_stopped());
  const std::vector<std::byte> data = filled(0x11);
  ASSERT_TRUE(memory_.supply(data));
  const std::int64_t deadline = within_patience();
  while (contents() != data && monotonic_ns() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(contents() == data);
  EXPECT_TRUE(transfer_->wait(within_patience()).ok());
}

// The destructor must not return while the system may still touch the buffer.
TEST_P(TransferInFlightTest, EndingATransferInFlightWaitsForTheBuffer) {
  ASSERT_TRUE(transfer_->start(request(Direction::write)).ok());
  ASSERT_TRUE(memory_.someone_is_stopped());
  const std::vector<std::byte> data = filled(0x42);
  std::atomic<bool> ending = false;
  bool supplied = false;
  std::jthread supplier([&] {
    ending.wait(false);
    supplied = memory_.supply(data);
  });
  ending = true;
  ending.notify_one();
  transfer_.reset();
  const std::vector<std::byte> at_end = contents();
  supplier.join();
  EXPECT_TRUE(supplied);
  EXPECT_TRUE(contents() == at_end) << "bytes moved after the transfer had ended";
}

INSTANTIATE_TEST_SUITE_P(Engines, TransferInFlightTest,
                         testing::Values(BackgroundKind::uring, BackgroundKind::thread),
                         [](const auto& engine) {
                           return engine.param == BackgroundKind::uring ? "io_uring" : "thread";
                         });

}  // namespace
}  // namespace weir::storage
