// What requests in the background do while they are in flight.
//
// To hold a request in flight for as long as a test wants, its buffer is memory that has no pages
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
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "common/clock.hpp"
#include "engines/engine.hpp"
#include "system/test_folder.hpp"

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

enum class Kind { uring, thread };

class RequestInFlight : public testing::TestWithParam<Kind> {
 protected:
  static constexpr std::int64_t pages = 4;

  void SetUp() override {
    if (!memory_.offered()) GTEST_SKIP() << "userfaultfd: " << memory_.refusal();
    // Several parts, so that the request ends only if each of them follows the one before.
    const EngineLimits limits{.bytes_per_call = memory_.bytes() / pages};
    if (GetParam() == Kind::thread) {
      engine_ = make_thread_engine(limits);
    } else {
      auto uring = make_uring_engine(limits);
      if (!uring.ok()) GTEST_SKIP() << uring.error().text();
      engine_ = std::move(uring).value();
    }
    auto file = engine_->open(path_, {.write = true, .create = true});
    ASSERT_TRUE(file.ok()) << file.error().text();
    file_ = std::move(file).value();
    request_.in_background = true;
  }

  // A test that fails early leaves its request stopped.
  void TearDown() override { memory_.release(); }

  Status begin(Direction direction) {
    request_.set(direction, *file_, 0, memory_.data(), memory_.bytes(),
                 direction == Direction::write ? Durability::data : Durability::none);
    return engine_->submit(request_);
  }

  [[nodiscard]] std::vector<std::byte> filled(int value) const {
    return std::vector<std::byte>(static_cast<std::size_t>(memory_.bytes()),
                                  static_cast<std::byte>(value));
  }

  [[nodiscard]] std::vector<std::byte> contents() const {
    std::ifstream stream(path_, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto* const first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
  }

  TestFolder folder_;
  std::string path_ = folder_.path("data");
  WithheldMemory memory_{pages};
  PieceRequest request_;
  std::unique_ptr<EngineFile> file_;
  std::unique_ptr<Engine> engine_;
};

TEST_P(RequestInFlight, TheCallerGoesOnWhileBytesAreWritten) {
  ASSERT_TRUE(begin(Direction::write).ok());
  ASSERT_TRUE(memory_.someone_is_stopped());  // in the background: this thread is here
  EXPECT_FALSE(engine_->poll(request_));
  EXPECT_EQ(engine_->poll(), nullptr);
  EXPECT_TRUE(request_.in_flight());

  const std::vector<std::byte> data = filled(0x5a);
  ASSERT_TRUE(memory_.supply(data));
  const Status finished = engine_->wait(request_, within_patience());
  ASSERT_TRUE(finished.ok()) << finished.error().text();
  EXPECT_FALSE(request_.in_flight());
  EXPECT_TRUE(contents() == data);
}

TEST_P(RequestInFlight, TheCallerGoesOnWhileBytesAreRead) {
  const std::vector<std::byte> data = filled(0x33);
  std::ofstream(path_, std::ios::binary)
      .write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  ASSERT_TRUE(begin(Direction::read).ok());
  ASSERT_TRUE(memory_.someone_is_stopped());
  EXPECT_FALSE(engine_->poll(request_));

  ASSERT_TRUE(memory_.supply(filled(0)));
  ASSERT_TRUE(engine_->wait(request_, within_patience()).ok());
  EXPECT_EQ(std::memcmp(memory_.data(), data.data(), data.size()), 0);
}

TEST_P(RequestInFlight, AWaitPastItsDeadlineFailsAndLeavesTheRequestInFlight) {
  ASSERT_TRUE(begin(Direction::write).ok());
  ASSERT_TRUE(memory_.someone_is_stopped());
  for (const std::int64_t deadline : {std::int64_t{0}, monotonic_ns() + 2'000'000}) {
    const Status waited = engine_->wait(request_, deadline);
    ASSERT_FALSE(waited.ok());
    EXPECT_EQ(waited.error().code, ErrorCode::deadline);
    EXPECT_EQ(waited.error().file, path_);
    EXPECT_EQ(waited.error().operation, "write");
    EXPECT_GE(monotonic_ns(), deadline);
    const auto any = engine_->wait(deadline);
    ASSERT_FALSE(any.ok());
    EXPECT_EQ(any.error().code, ErrorCode::deadline);
    EXPECT_EQ(engine_->in_flight(), 1);
  }
  const Status again = engine_->submit(request_);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::invalid_argument);

  const std::vector<std::byte> data = filled(0x77);
  ASSERT_TRUE(memory_.supply(data));
  const auto ended = engine_->wait(within_patience());
  ASSERT_TRUE(ended.ok()) << ended.error().text();
  EXPECT_EQ(ended.value(), &request_);
  EXPECT_TRUE(contents() == data);
}

// A request that cannot end does not hold up others of the same file, nor blocking calls.
TEST_P(RequestInFlight, OthersEndMeanwhile) {
  ASSERT_TRUE(begin(Direction::write).ok());
  ASSERT_TRUE(memory_.someone_is_stopped());
  std::vector<std::byte> more(10'000, std::byte{9});
  const Slice slice{more.data(), 10'000};
  const auto other = engine_->open(folder_.path("other"), {.write = true, .create = true});
  ASSERT_TRUE(other.ok());
  const FileRange range{other.value().get(), 5, {&slice, 1}};
  FileTraffic traffic;
  ASSERT_TRUE(engine_->write({&range, 1}, traffic).ok());
  EXPECT_EQ(traffic.moved, 10'000);
  EngineFile* const written = other.value().get();
  EXPECT_TRUE(engine_->sync({&written, 1}).ok());
  PieceRequest second;
  second.set(Direction::read, *written, 5, more.data(), 10'000);
  ASSERT_TRUE(engine_->submit(second).ok());
  EXPECT_TRUE(engine_->wait(second, within_patience()).ok());
  EXPECT_TRUE(request_.in_flight());
  ASSERT_TRUE(memory_.supply(filled(1)));
  EXPECT_TRUE(engine_->wait(request_, within_patience()).ok());
}

// All parts, not only the first, move without the caller asking after them.
TEST_P(RequestInFlight, AllPartsMoveWithoutTheCaller) {
  ASSERT_TRUE(begin(Direction::write).ok());
  ASSERT_TRUE(memory_.someone_is_stopped());
  const std::vector<std::byte> data = filled(0x11);
  ASSERT_TRUE(memory_.supply(data));
  const std::int64_t deadline = within_patience();
  while (contents() != data && monotonic_ns() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(contents() == data);
  EXPECT_TRUE(engine_->wait(request_, within_patience()).ok());
}

// The destructor must not return while the system may still touch the buffer.
TEST_P(RequestInFlight, TheEndOfTheEngineWaitsForTheBuffer) {
  ASSERT_TRUE(begin(Direction::write).ok());
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
  engine_.reset();
  const std::vector<std::byte> at_end = contents();
  supplier.join();
  EXPECT_TRUE(supplied);
  EXPECT_TRUE(contents() == at_end) << "bytes moved after the engine had ended";
}

INSTANTIATE_TEST_SUITE_P(Engines, RequestInFlight, testing::Values(Kind::uring, Kind::thread),
                         [](const auto& kind) {
                           return kind.param == Kind::uring ? "io_uring" : "thread";
                         });

}  // namespace
}  // namespace weir::storage
