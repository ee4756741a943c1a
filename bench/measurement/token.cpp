#include "measurement/token.hpp"

#include "measurement/job.hpp"

namespace weir::bench {

Token::Token(MPI_Comm communicator, std::int64_t modulus, int tag)
    : communicator_(communicator), modulus_(modulus), tag_(tag) {
  MPI_Comm_rank(communicator, &rank_);
}

void Token::ask() {
  has_turn_ = rank_ % modulus_ == 0;
  if (!has_turn_) MPI_Irecv(nullptr, 0, MPI_BYTE, rank_ - 1, tag_, communicator_, &request_);
}

bool Token::arrived() {
  if (has_turn_) return true;
  int done = 0;
  MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
  has_turn_ = done != 0;
  return has_turn_;
}

Status Token::wait(std::int64_t deadline_ns) {
  if (has_turn_) return {};
  if (Status status = wait_for(request_, deadline_ns, "the RMOD/WMOD token"); !status) {
    return status;
  }
  has_turn_ = true;
  return {};
}

void Token::pass() {
  has_turn_ = false;
  // An empty message is sent eagerly, so this does not wait for the receiver.
  if (rank_ % modulus_ != modulus_ - 1) {
    MPI_Send(nullptr, 0, MPI_BYTE, rank_ + 1, tag_, communicator_);
  }
}

}  // namespace weir::bench
