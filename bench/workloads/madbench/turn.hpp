// One matrix transfer of one rank, with its turn: it waits for the token, moves the matrix, makes
// it durable, and passes the token on.
//
// In SYNC mode begin() does all of it. In ASYNC mode begin() starts it, progress() (called from the
// busy work) advances it, and finish() waits for the rest. Even after a failure the token is passed
// on, so that the other ranks reach the barrier at which they learn of it.
#pragma once

#include <cstdint>

#include "common/status.hpp"
#include "engines/engine.hpp"
#include "interfaces/interface.hpp"
#include "measurement/failure.hpp"
#include "measurement/token.hpp"
#include "measurement/transfer_request.hpp"

namespace weir::bench::madbench {

struct TurnTiming {
  std::int64_t start_ns = 0;
  std::int64_t moved_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t foreground_ns = 0;  // blocked in the transfer's calls and in waiting for its end
  std::int64_t token_wait_ns = 0;  // blocked while waiting for the turn
};

class Turn {
 public:
  Turn(Token& token, FailureGuard& guard) : token_(token), guard_(guard) {}

  // `engine`, its `file` and the `path` of that must live until finish() has returned.
  void begin(storage::Engine& engine, File& file, const TransferRequest& request,
             const std::string& path, bool background, std::int64_t deadline_ns);
  void progress();
  // Returns the transfer's status; the turn is idle afterwards.
  Status finish(std::int64_t deadline_ns);
  [[nodiscard]] const TurnTiming& timing() const { return timing_; }

 private:
  enum class Stage { idle, waiting, moving };
  void move();
  void end(Status status);

  Token& token_;
  FailureGuard& guard_;
  storage::Engine* engine_ = nullptr;
  File* file_ = nullptr;
  TransferRequest request_;
  storage::PieceRequest piece_;
  Stage stage_ = Stage::idle;
  Status status_;
  TurnTiming timing_;
};

}  // namespace weir::bench::madbench
