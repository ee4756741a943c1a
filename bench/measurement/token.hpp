// A token lets only one of every `modulus` consecutive ranks move data at a time.
//
// The first rank of each set may begin at once; each rank passes the token to the next when it has
// finished. A rank has at most one turn per Token at a time. With modulus 1 every rank always has
// its turn.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "common/status.hpp"

namespace weir::bench {

class Token {
 public:
  // `tag` distinguishes the messages of different tokens on one communicator.
  Token(MPI_Comm communicator, std::int64_t modulus, int tag);
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;
  ~Token() = default;

  void ask();                             // begins a turn
  [[nodiscard]] bool arrived();           // makes progress; returns true once the turn has come
  Status wait(std::int64_t deadline_ns);  // waits until the turn has come
  void pass();                            // ends the turn; must be called after a failure too

 private:
  MPI_Comm communicator_;
  int rank_ = 0;
  std::int64_t modulus_;
  int tag_;
  bool has_turn_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace weir::bench
