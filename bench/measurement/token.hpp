// Taking turns: of every `modulus` consecutive ranks one moves data at a time.
//
// The first rank of each set may begin at once; each passes a token to the next when it is done. At
// most one turn per Token is under way on a rank. With modulus 1 every rank has its turn always.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "common/status.hpp"

namespace weir::bench {

class Token {
 public:
  // `tag` tells the messages of different tokens on one communicator apart.
  Token(MPI_Comm communicator, std::int64_t modulus, int tag);
  Token(const Token&) = delete;
  Token& operator=(const Token&) = delete;
  ~Token() = default;

  void ask();                             // begins a turn
  [[nodiscard]] bool arrived();           // makes progress; true once the turn has come
  Status wait(std::int64_t deadline_ns);  // until the turn has come
  void pass();                            // ends the turn; call it after a failure too

 private:
  MPI_Comm communicator_;
  int rank_ = 0;
  std::int64_t modulus_;
  int tag_;
  bool has_turn_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace weir::bench
