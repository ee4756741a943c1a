// A rank that does not come, or comes late: the others return at their deadline, and the session is
// broken. Requests that nobody waited for when their session is closed.
#include "parallel.hpp"

namespace weir::test {
namespace {

class Deadlines : public OnRanks {
 protected:
  // Ranks that meet the deadline wait no longer than this for each other.
  static weir_session_options brief(const char* strategy = nullptr) {
    weir_session_options options = {};
    options.deadline_seconds = 0.5;
    options.strategy = strategy;
    options.aggregators = size_of_world();  // each of which has pieces to write
    options.buffer_bytes = 4096;
    return options;
  }
  // All calls of the session fail from now on, and none of them waits.
  static void expect_broken(weir_session* session) {
    const Extents shape = {4};
    weir_distribution* none = nullptr;
    EXPECT_EQ(weir_distribution_create(session, 1, shape.data(), "BLOCK", nullptr, &none),
              WEIR_E_BROKEN);
    EXPECT_EQ(weir_session_close(&session), WEIR_E_BROKEN);
  }

  const bool missing_ = rank_of_world() == 1;
  const Extents shape_ = {96, 512};
};

// A session, a distribution and an array, which stay: nothing of a broken session can be freed.
struct Opened {
  Opened(const weir_session_options& options, const Extents& shape, const std::string& path) {
    EXPECT_EQ(weir_session_open(MPI_COMM_WORLD, &options, &session), 0) << weir_last_error();
    EXPECT_EQ(weir_distribution_create(session, 2, shape.data(), "BLOCK, *", nullptr, &rows), 0);
    EXPECT_EQ(weir_array_create(session, path.c_str(), 2, shape.data(), "float64", nullptr, &array),
              0)
        << weir_last_error();
    part.assign(static_cast<std::size_t>(weir_distribution_elements(rows)), 1);
    transfer.array = array;
    transfer.distribution = rows;
    transfer.data = part.data();
  }

  weir_session* session = nullptr;
  weir_distribution* rows = nullptr;
  weir_array* array = nullptr;
  std::vector<double> part;
  weir_transfer transfer = {};
};

TEST_F(Deadlines, ARankMissingAtAnyCall) {
  const std::vector<int (*)(Opened&)> calls = {
      [](Opened& opened) {
        const Extents shape = {4};
        return weir_array_create(opened.session, "never made", 1, shape.data(), "int8", nullptr,
                                 &opened.array);
      },
      [](Opened& opened) { return weir_write(opened.array, opened.rows, opened.part.data()); },
      [](Opened& opened) {
        weir_request* request = nullptr;
        const int begun = weir_write_begin(opened.session, 1, &opened.transfer, &request);
        return begun != 0 ? begun : weir_wait(&request);
      },
      [](Opened& opened) { return weir_array_sync(opened.array); },
      [](Opened& opened) { return weir_array_close(&opened.array); },
      [](Opened& opened) { return weir_session_close(&opened.session); },
  };
  for (std::size_t number = 0; number < calls.size(); ++number) {
    auto* const opened = new Opened(brief(), shape_, path("weir-array"));
    if (!missing_) {
      weir_session* const session = opened->session;
      EXPECT_EQ(calls[number](*opened), WEIR_E_DEADLINE) << number << ": " << weir_last_error();
      if (opened->session != nullptr) expect_broken(session);
    } else {
      weir_session_abandon(&opened->session);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Deadlines, AWriteThatTakesTooLong) {
  for (const char* const strategy : {"direct", "node"}) {
    auto* const opened = new Opened(brief(strategy), shape_, path("weir-array"));
    const Fault late("rank=1,call=pwrite,nth=1,effect=late");
    const int code = weir_write(opened->array, opened->rows, opened->part.data());
    if (!missing_) {
      EXPECT_EQ(code, WEIR_E_DEADLINE) << weir_last_error();
      expect_broken(opened->session);
    } else {
      // Whatever it was told of this call, the others make no further one with it.
      EXPECT_LT(weir_array_sync(opened->array), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Deadlines, ClosingASessionEndsItsRequests) {
  const weir_session_options patient = {};
  Opened opened(patient, shape_, path("weir-array"));
  weir_request* request = nullptr;
  ASSERT_EQ(weir_write_begin(opened.session, 1, &opened.transfer, &request), 0);
  ASSERT_EQ(weir_session_close(&opened.session), 0) << weir_last_error();
  const auto content = content_of<double>(path("weir-array"));
  EXPECT_EQ(content, std::vector<double>(static_cast<std::size_t>(elements_of(shape_)), 1));
}

// The last test of the program: making communicators of MPI_COMM_WORLD is under way for good.
TEST_F(Deadlines, ZARankMissingAtTheOpening) {
  if (missing_) return;
  const auto options = brief();
  weir_session* session = nullptr;
  EXPECT_EQ(weir_session_open(MPI_COMM_WORLD, &options, &session), WEIR_E_DEADLINE);
  EXPECT_EQ(session, nullptr);
}

}  // namespace
}  // namespace weir::test
