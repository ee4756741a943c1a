// The memory that ranks of a node share for buffers: small limits of /dev/shm do not matter; where
// a node has too little memory all nodes have smaller buffers; far too little is an error.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <limits>

#include "parallel.hpp"

namespace {

// What this rank may still reserve of memory to share, how often it made some, whether it may make
// any, and whether the system has random numbers.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): looked at below
std::int64_t room = std::numeric_limits<std::int64_t>::max();
bool makes_memory = true;
bool has_random_numbers = true;
int memories_made = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// Stand before libc's: the library's calls come here first.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's are reserved
extern "C" int fallocate(int descriptor, int mode, off_t offset, off_t bytes) {
  static const auto call = real<int (*)(int, int, off_t, off_t)>("fallocate");
  if (bytes > room) {
    errno = ENOSPC;
    return -1;
  }
  return call(descriptor, mode, offset, bytes);
}

extern "C" int memfd_create(const char* name, unsigned flags) {
  static const auto call = real<int (*)(const char*, unsigned)>("memfd_create");
  if (!makes_memory) {
    errno = ENOSYS;
    return -1;
  }
  ++memories_made;
  return call(name, flags);
}
extern "C" ssize_t getrandom(void* numbers, size_t bytes, unsigned flags) {
  static const auto call = real<ssize_t (*)(void*, size_t, unsigned)>("getrandom");
  if (!has_random_numbers) {
    errno = EAGAIN;
    return -1;
  }
  return call(numbers, bytes, flags);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)

namespace weir::test {
namespace {

constexpr std::int64_t least_bytes = 64 << 10;

class NodeMemory : public OnRanks {
 protected:
  static constexpr std::int64_t wanted_bytes = 1 << 20;
  void TearDown() override {
    room = std::numeric_limits<std::int64_t>::max();
    makes_memory = true;
    has_random_numbers = true;
    OnRanks::TearDown();
  }
  // As if two ranks were a node: rank 2 is the first of another one.
  static weir_session_options on_two_nodes() {
    weir_session_options options{};
    options.strategy = "two-phase";
    options.ranks_per_node = 2;
    options.aggregators = 2;
    options.buffer_bytes = wanted_bytes;
    options.deadline_seconds = 30;
    return options;
  }
  // What a rank other than the first of its node reserves beside its buffers.
  static constexpr std::int64_t header_bytes = 8192;
  // Each holder has buffers: eight to gather in where there are several nodes and none has over
  // 2 MiB, and as many for messages to and from other nodes.
  static constexpr std::int64_t buffers = 16;
  // Opens a session, writes and reads, and returns how the session explains a write.
  std::string explained(const weir_session_options& options) {
    Session session(MPI_COMM_WORLD, options);
    const Extents shape = {64 * size_of_world(), 1024};
    Array array = session.create<double>(path("array"), shape);
    const auto rows = session.distribution(shape, "BLOCK, *");
    const auto numbers = numbered_part<double>(rows, shape);
    array.write(rows, numbers);
    std::vector<double> part(rows.elements());
    array.read(rows, part);
    EXPECT_EQ(part, numbers);
    std::string all = session.explain_write({Outgoing(array, rows, numbers)});
    array.close();
    return all;
  }
};

TEST_F(NodeMemory, IsWhatWasAskedForWhereThereIsEnough) {
  const std::string text = explained(on_two_nodes());
  EXPECT_NE(text.find("buffers of 1 MiB"), std::string::npos) << text;
  EXPECT_EQ(text.find("instead of"), std::string::npos) << text;
}

TEST_F(NodeMemory, AllNodesHaveSmallerBuffersWhereOneHasTooLittle) {
  if (rank_of_world() == 3) room = header_bytes + buffers * (wanted_bytes / 4);
  const std::string text = explained(on_two_nodes());
  EXPECT_NE(text.find("buffers of 256 KiB"), std::string::npos) << text;
  EXPECT_NE(text.find("buffers have 262144 bytes instead of 1048576"), std::string::npos) << text;
  // The room is known anew by each session.
  room = std::numeric_limits<std::int64_t>::max();
  const std::string again = explained(on_two_nodes());
  EXPECT_NE(again.find("buffers of 1 MiB"), std::string::npos) << again;
}

TEST_F(NodeMemory, TheLeastBuffersAreEnoughAndOneByteLessIsAnError) {
  if (rank_of_world() == 3) room = header_bytes + buffers * least_bytes;
  EXPECT_NE(explained(on_two_nodes()).find("buffers of 64 KiB"), std::string::npos);
  if (rank_of_world() == 3) --room;
  const auto options = on_two_nodes();
  weir_session* session = nullptr;
  EXPECT_EQ(weir_session_open(MPI_COMM_WORLD, &options, &session), WEIR_E_MEMORY);
  EXPECT_EQ(session, nullptr);
  const std::string text = weir_last_error();
  EXPECT_NE(text.find("rank 3: "), std::string::npos) << text;
  EXPECT_NE(text.find("buffers of 65536 bytes need "), std::string::npos) << text;
  EXPECT_NE(text.find("buffer_bytes"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

// Smaller ones that are asked for are made, and do not become smaller still.
TEST_F(NodeMemory, BuffersBelowTheLeastStayAsTheyAre) {
  auto options = on_two_nodes();
  options.buffer_bytes = 8192;
  if (rank_of_world() == 3) room = header_bytes + buffers * options.buffer_bytes;
  EXPECT_NE(explained(options).find("buffers of 8 KiB"), std::string::npos);
  if (rank_of_world() == 3) --room;
  weir_session* session = nullptr;
  EXPECT_EQ(weir_session_open(MPI_COMM_WORLD, &options, &session), WEIR_E_MEMORY);
}

TEST_F(NodeMemory, ASystemWithoutItIsAnErrorOnAllRanks) {
  if (rank_of_world() == 2) makes_memory = false;
  const auto options = on_two_nodes();
  weir_session* session = nullptr;
  EXPECT_LT(weir_session_open(MPI_COMM_WORLD, &options, &session), 0);
  const std::string text = weir_last_error();
  EXPECT_NE(text.find("rank 2: memfd_create failed"), std::string::npos) << text;
  makes_memory = true;
  EXPECT_NE(explained(options).find("buffers of 1 MiB"), std::string::npos);
}

// A region that was not written is missing in the step, although nothing was written at all.
TEST_F(NodeMemory, AStepWhoseRegionsHaveNoPlaceIsNotCommitted) {
  Session session(MPI_COMM_WORLD, on_two_nodes());
  const Extents shape = {size_of_world(), 4};
  File file = session.create_file(path("a.h5"));
  weir_define_options growing{};
  growing.steps = 1;
  Array array = file.define<double>("x", shape, growing);
  const Region own = {{rank_of_world(), 0}, {1, 4}};
  const std::vector<double> row(4, 1.0);
  file.begin_step();
  if (rank_of_world() == 2) room = 0;
  EXPECT_THROW(array.write_region(own, row), Failure);
  room = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(file.end_step(), Failure);
  EXPECT_EQ(file.steps(), 0);
  file.begin_step();
  array.write_region(own, row);
  file.end_step();
  EXPECT_EQ(file.steps(), 1);
  file.close();
}

// Without a secret anybody on the machine could pass files to a rank.
TEST_F(NodeMemory, NoRandomNumbersAreAnErrorOnAllRanks) {
  if (rank_of_world() == 2) has_random_numbers = false;
  const auto options = on_two_nodes();
  weir_session* session = nullptr;
  EXPECT_LT(weir_session_open(MPI_COMM_WORLD, &options, &session), 0);
  const std::string text = weir_last_error();
  EXPECT_NE(text.find("rank 2: getrandom failed"), std::string::npos) << text;
  has_random_numbers = true;
  EXPECT_NE(explained(options).find("buffers of 1 MiB"), std::string::npos);
}

// The places of many encoded chunks are kept once on each node, those of few by every rank; where a
// node can make no memory for them, by every rank too.
TEST_F(NodeMemory, PlacesOfManyChunksAreKeptOnceOnANode) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizers need many kinds of cases, not large ones";
#endif
  static const std::array<std::int64_t, 1> one_element = {1};
  // At the end of the step, places of more than 16384 chunks are told in two messages.
  for (const std::int64_t chunks : {16'000, 17'000}) {
    SCOPED_TRACE(chunks);
    const Extents shape = {chunks};
    const std::string name = path(std::to_string(chunks) + ".h5");
    Session session(MPI_COMM_WORLD, on_two_nodes());
    const auto blocks = session.distribution(shape, "BLOCK");
    const auto numbers = numbered_part<std::int32_t>(blocks, shape);
    const auto expect_content = [&](int memories) {
      const int before = memories_made;
      File file = session.open_file(name);
      EXPECT_EQ(memories_made - before, memories);
      std::vector<std::int32_t> part(blocks.elements());
      file.array("x").read(blocks, part);
      EXPECT_EQ(part, numbers);
      file.close();
    };
    const int memories = chunks > 16'384 && rank_of_world() % 2 == 0 ? 1 : 0;
    const int before = memories_made;
    {
      weir_file_options format{};
      format.format = "hdf5";
      File file = session.create_file(name, format);
      weir_define_options options{};
      options.chunks = one_element.data();
      options.codec = "fletcher32";
      Array written = file.define<std::int32_t>("x", shape, options);
      file.begin_step();
      written.write(blocks, numbers);
      file.end_step();
      file.close();
    }
    EXPECT_EQ(memories_made - before, memories);
    expect_content(memories);
    makes_memory = rank_of_world() != 2;
    expect_content(rank_of_world() == 0 ? memories : 0);
    makes_memory = true;
  }
}

}  // namespace
}  // namespace weir::test
