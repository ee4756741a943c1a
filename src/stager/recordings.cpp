#include "stager/recordings.hpp"

namespace weir::stager {

Record Recordings::begin(JobId job, SessionId session, BlockItem* filled) {
  filled->recording = job;
  under_way_[job] = {.session = session, .filled = filled, .block = filled->block};
  return {job, session, filled->block, filled->files, filled->extents};
}

RecordStep Recordings::begin(JobId job, SessionId session, CommitItem* commit, ClientId client) {
  commit->recording = job;
  under_way_[job] = {
      .session = session, .commit = commit, .client = client, .ticket = commit->ticket};
  return {.job = job, .session = session, .step = commit->step, .share = {}, .refused = {}};
}

RecordStep Recordings::begin(JobId job, SessionId session, const transport::RecordShare& message) {
  under_way_[job] = {.session = session, .ticket = message.share.ticket, .is_share = true};
  return {
      .job = job, .session = session, .step = message.step, .share = message.share, .refused = {}};
}

void Recordings::forget(const Item& item) {
  const auto* const filled = std::get_if<BlockItem>(&item);
  const auto* const commit = std::get_if<CommitItem>(&item);
  const auto found = under_way_.find(filled != nullptr   ? filled->recording
                                     : commit != nullptr ? commit->recording
                                                         : 0);
  if (found == under_way_.end()) return;
  found->second.filled = nullptr;
  found->second.commit = nullptr;
}

std::optional<Recording> Recordings::end(JobId job, const Status& status) {
  const auto found = under_way_.find(job);
  if (found == under_way_.end()) return std::nullopt;
  Recording ended = under_way_.extract(found).mapped();
  ended.outcome = status;
  if (!status.ok()) {
    failure_ = status.error().text();
  } else if (ended.ticket != 0) {
    failure_.clear();
  }
  if (ended.filled != nullptr) ended.filled->recording = 0;
  if (ended.commit != nullptr) ended.commit->recording = 0;
  return ended;
}

}  // namespace weir::stager
