#include "capi/ranks.hpp"

#include "aggregation/call_queue.hpp"
#include "ranks/messages.hpp"
#include "ranks/revocation.hpp"
#include "ranks/splitting.hpp"

namespace weir::capi {
namespace {

constexpr const char* the_others = "the other ranks";

}  // namespace

Outcome Ranks::open(MPI_Comm communicator, double deadline_seconds) {
  deadline_seconds_ = deadline_seconds;
  ranks::Revocation of_opening(ranks::Revocation::Local{}, communicator);
  ranks::Pending pending;
  const Status duplicated = ranks::finish(ranks::duplicate(pending, communicator, communicator_),
                                          pending, {of_opening, deadline_seconds_, the_others});
  if (!duplicated.ok()) return ended(duplicated);
  const int handled = MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  channel_ = std::make_unique<ranks::Channel>(communicator_);
  ranks::Revocation& revocation = channel_->revocation();
  Status ready =
      ranks::unless_failed(ranks::status_of(handled, "MPI_Comm_set_errhandler"), revocation);
  if (ready.ok()) ready = ranks::unless_failed(of_opening.place_told(), revocation);
  if (ready.ok() && revocation.is_revoked()) ready = revocation.error();
  rank_ = revocation.rank();
  return ended(ready);
}

void Ranks::free() {
  // All messages have ended, so a communicator that is not freed is lost memory and nothing else.
  if (!broken_) static_cast<void>(ranks::free_communicator(communicator_));
}

Outcome Ranks::ended(const Status& waited) {
  if (waited.ok()) return {};
  if (!ranks::ends_communication(waited.error())) return outcome_of(waited);
  broken_ = true;
  return outcome_of(aggregation::no_vote(waited.error(), rank_, deadline_seconds_));
}

Outcome Ranks::agree(const aggregation::Call& call) {
  return ended(aggregation::agree(*channel_, communicator_, call, deadline_seconds_));
}

Outcome Ranks::share(std::string& text) {
  return ended(channel_->share(text, deadline_seconds_, the_others));
}

}  // namespace weir::capi
