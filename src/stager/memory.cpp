// Ranks get memory in this way: blocks are granted in the order in which ranks asked, and where
// none is free, filled blocks move to the spill file or are written to make room.
//
// A rank asks for all blocks that it expects to fill before it hands over, so that it waits once.
// The first block is its due. Beyond that one it gets at most its even share of what is free then
// (extra_blocks()). As many blocks as there are other ranks therefore stay free whenever a rank
// gets several. From this follows that ranks which ask only when they hold no block never hold all
// memory among them while one of them waits: a rank that waits can always be helped by storing.
//
// A rank that does not wait for an answer (HandOver) gets blocks for what it hands over next only
// while half of all memory stays free, and a block for each rank: it may compute for a long time
// before it needs them.
#include <algorithm>
#include <set>
#include <utility>

#include "stager/stager.hpp"

namespace weir::stager {

void Stager::take(const BlocksReady& event) {
  blocks_.add(event.blocks);
  grant();
}

void Stager::take(const NoMoreBlocks& /*event*/) { blocks_.end(); }

// Gives blocks to the ranks that wait for them, the longest waiting first. With less than it wanted
// a rank can go on.
void Stager::grant() {
  for (auto next = wanting_.begin(); next != wanting_.end() && blocks_.has_free();) {
    const ClientId number = *next;
    Client& client = clients_.at(number);
    if (blocks_.room_of(client.session) < 1) {
      ++next;
      continue;
    }
    next = wanting_.erase(next);
    transport::Granted granted;
    const auto take_one = [&] {
      granted.blocks.push_back(blocks_.take(client.session, number));
      client.granted.emplace(granted.blocks.back(), Filled{});
    };
    take_one();
    for (std::int64_t extra = extra_blocks(client); extra > 0; --extra) take_one();
    client.wanted = 0;
    send(number, std::move(granted));
  }
}

std::int64_t Stager::extra_blocks(const Client& client) const {
  const std::int64_t of_the_session = std::ssize(sessions_.at(client.session).clients);
  return std::min({client.wanted - 1, blocks_.free() / ranks_,
                   blocks_.room_of(client.session) / of_the_session});
}

std::int64_t Stager::blocks_ahead(const Client& client, std::int64_t wanted) const {
  const Session& session = sessions_.at(client.session);
  if (!session.failure.ok() || !wanting_.empty()) return 0;
  const std::int64_t unused = blocks_.most() - blocks_.ready() + blocks_.free();
  const std::int64_t spare = unused - std::max(blocks_.most() / 2, ranks_);
  const std::int64_t room = blocks_.room_of(client.session) -
                            std::max(settings_.client_blocks / 2, std::ssize(session.clients));
  return std::max<std::int64_t>(0, std::min({wanted, blocks_.free(), spare, room}));
}

void Stager::free_filled_block(const BlockItem& filled) {
  if (filled.recording != 0) return;  // the end of its recording frees it
  if (filled.is_moving) {
    slots_.drop(filled.block);
  } else if (filled.spilled) {
    slots_.free_slot(filled.spilled->slot);
  } else {
    blocks_.give_back(filled.block);
  }
}

void Stager::make_room() {
  const std::set<SessionId> full = full_sessions();
  if (full.empty() || slots_.is_moving()) return;
  // Where no filled block can move now, all blocks are those of ranks and jobs, which will free
  // them.
  if (slots_.is_usable()) {
    begin_spill(full);
    return;
  }
  writes_for_room_ = true;
  for (const SessionId number : full) advance(number, sessions_.at(number));
  writes_for_room_ = false;
  for (const SessionId number : full) end_if_over(number);
}

// Where all memory is in use, those are all sessions, and else those that have as much as one may.
std::set<SessionId> Stager::full_sessions() const {
  std::set<SessionId> full;
  if (is_short_of_blocks()) {
    for (const auto& [number, session] : sessions_) full.insert(number);
    return full;
  }
  if (settings_.client_blocks == 0) return full;
  for (const ClientId client : wanting_) {
    const SessionId number = clients_.at(client).session;
    if (blocks_.room_of(number) < 1) full.insert(number);
  }
  return full;
}

// The session that has most in memory is asked first.
void Stager::begin_spill(const std::set<SessionId>& full) {
  if (slots_.is_busy()) return;
  SessionId chosen = 0;
  std::vector<BlockItem*> filled_blocks;
  for (const SessionId number : full) {
    std::vector<BlockItem*> found = sessions_.at(number).queue.movable_filled_blocks();
    if (found.size() <= filled_blocks.size()) continue;
    filled_blocks = std::move(found);
    chosen = number;
  }
  if (filled_blocks.empty()) return;
  slots_.begin(++last_job_, chosen);
  std::int64_t bytes = 0;
  for (BlockItem* const filled : filled_blocks) {
    if (slots_.free() == 0) break;
    if (bytes > 0 && bytes + filled->bytes > settings_.most_written_together) break;
    bytes += filled->bytes;
    filled->is_moving = true;
    slots_.add(filled->block, filled->bytes);
  }
  actions_.emplace_back(slots_.action());
}

void Stager::end_spill(const std::optional<SpillSlots::Moved>& moved) {
  if (!moved) return;  // the file's space was given back
  for (const std::int64_t block : moved->free) blocks_.give_back(block);
  const auto found = sessions_.find(moved->session);
  if (found != sessions_.end()) {
    found->second.queue.end_move(moved->by_block);
    advance(moved->session, found->second);
    end_if_over(moved->session);
  }
  grant();
}

void Stager::empty_spill() {
  if (slots_.can_be_emptied()) actions_.emplace_back(slots_.empty(++last_job_));
}

}  // namespace weir::stager
