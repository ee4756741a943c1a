#include "library/group.hpp"

#include <algorithm>
#include <simgrid/s4u.hpp>
#include <utility>

namespace weir::sim {

int Tree::reach_of(int place) const {
  int reach = 1;
  while (reach < size && (place & reach) == 0) reach *= 2;
  return reach;
}

CollectiveCall::CollectiveCall(const Group& group)
    : group_(group), seats_(static_cast<std::size_t>(group.size())) {}

double CollectiveCall::seconds_each() const { return group_.system().asked->messages.seconds_each; }

double CollectiveCall::seconds_between(int from, int to, std::size_t bytes) const {
  const std::int64_t sender = group_.node_of(from);
  const std::int64_t receiver = group_.node_of(to);
  if (sender == receiver || group_.system().asked->messages.bytes_per_second <= 0) return 0;
  const Machine& machine = group_.system().operations->machine();
  return static_cast<double>(bytes) /
         std::min(machine.rate_of_messages(sender), machine.rate_of_messages(receiver));
}

void CollectiveCall::receive_each(const std::function<int(int rank)>& source,
                                  const std::function<double(int rank)>& bytes) {
  const Description& asked = *group_.system().asked;
  const Machine& machine = group_.system().operations->machine();
  const auto nodes = static_cast<std::size_t>(asked.nodes);
  std::vector<double> sent(nodes);
  std::vector<double> received(nodes);
  const auto for_each_message = [&](const auto& act) {
    for (int rank = 0; rank < size(); ++rank) {
      const int from = source(rank);
      if (from < 0) continue;
      act(rank, from, static_cast<std::size_t>(group_.node_of(from)),
          static_cast<std::size_t>(group_.node_of(rank)));
    }
  };
  for_each_message([&](int rank, int /*from*/, std::size_t sender, std::size_t receiver) {
    if (sender == receiver || asked.messages.bytes_per_second <= 0) return;
    sent[sender] += bytes(rank) / machine.rate_of_messages(static_cast<std::int64_t>(sender));
    received[receiver] +=
        bytes(rank) / machine.rate_of_messages(static_cast<std::int64_t>(receiver));
  });
  std::vector<double> after(seats_.size());
  for (int rank = 0; rank < size(); ++rank) {
    after[static_cast<std::size_t>(rank)] = seat(rank).seconds;
  }
  for_each_message([&](int rank, int from, std::size_t sender, std::size_t receiver) {
    const double on_links = sender == receiver ? 0 : std::max(sent[sender], received[receiver]);
    after[static_cast<std::size_t>(rank)] =
        std::max(seat(rank).seconds, seat(from).seconds + on_links) + seconds_each();
  });
  for (int rank = 0; rank < size(); ++rank) {
    seat(rank).seconds = after[static_cast<std::size_t>(rank)];
  }
}

void CollectiveCall::disseminate(double bytes_of_each) {
  for (int distance = 1; distance < size(); distance *= 2) {
    const int ranks = std::min(distance, size() - distance);  // of which the sender tells
    receive_each([&](int rank) { return (rank - distance + size()) % size(); },
                 [&](int /*rank*/) { return bytes_of_each * ranks; });
  }
}

void CollectiveCall::let_go(Seat& seat) const {
  seat.leaves = true;
  if (seat.waits) seat.rank->met->release();
}

void CollectiveCall::let_all_go() {
  for (Seat& seat : seats_) let_go(seat);
}

Group::Group(const SimulatedSystem& system, std::vector<std::int64_t> world)
    : system_(system), world_(std::move(world)), posts_(world_.size()), begun_(world_.size()) {}

std::int64_t Group::node_of(int rank) const {
  return world_rank(rank) / system_.asked->ranks_per_node;
}

void Group::call(int rank, const void* mine, void* result,
                 const std::function<void(CollectiveCall& call)>& act) {
  SimulatedRank& own = this_rank();
  wake_looking(*own.node);
  const std::int64_t number = begun_[static_cast<std::size_t>(rank)]++;
  CollectiveCall& call = calls_.try_emplace(number, *this).first->second;
  Seat& seat = call.seat(rank);
  seat.rank = &own;
  seat.mine = static_cast<const std::byte*>(mine);
  seat.result = static_cast<std::byte*>(result);
  seat.seconds = simgrid::s4u::Engine::get_clock();
  ++call.come_;
  act(call);
  seat.waits = true;
  if (!seat.leaves) own.met->acquire();
  const double left = seat.seconds - simgrid::s4u::Engine::get_clock();
  if (left > 0) simgrid::s4u::this_actor::sleep_for(left);
  if (++call.gone_ == call.size()) calls_.erase(number);
}

}  // namespace weir::sim
