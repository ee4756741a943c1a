// A write or read of every rank's own region of one array, as a state machine:
//
//   gathering   all ranks' regions come to each, unless they are known from before
//   then either, where no region has strides:
//     inner     a CollectiveRequest by a distribution of one box per rank
//   or:
//     checking  the ranks agree that they can move their regions, which do not overlap
//     moving    each moves its own (own_region.hpp)
//     ending    the ranks agree on how it ended
//   ended
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "aggregation/agreement.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/collective_state.hpp"
#include "aggregation/own_region.hpp"
#include "aggregation/request.hpp"
#include "ranks/messages.hpp"
#include "ranks/waiting.hpp"

namespace weir::aggregation {

class RegionRequest final : public Request {
 public:
  // `known`: all ranks' regions as an earlier request had them, the same on all ranks; null: they
  // are gathered. `learn` is called with those that were.
  RegionRequest(CollectiveState& state, OpenArray& file, plan::Direction direction,
                const OwnRegion& own, std::shared_ptr<RankRegions> known, LearnRegions learn);
  RegionRequest(const RegionRequest&) = delete;
  RegionRequest& operator=(const RegionRequest&) = delete;
  ~RegionRequest() override;

  [[nodiscard]] bool test() override;
  Status wait() override;
  [[nodiscard]] const CollectiveFigures& figures() const override { return figures_; }

 private:
  enum class Step : std::uint8_t { gathering, inner, checking, ending, ended };
  struct Gathered {
    std::vector<std::int64_t> mine;
    std::vector<std::int64_t> all;
    ranks::Pending pending;
  };

  void gather();
  // Goes on until something has to be waited for. Returns whether anything happened.
  bool advance();
  void take_gathered();
  void begin_moving();
  void move();
  void end(Status outcome);
  // Ends the request where messages may still be under way.
  void give_up(const Error& error);
  // Whether the session was revoked: the request has then ended.
  bool is_revoked();

  CollectiveState& state_;
  OpenArray& file_;
  plan::Direction direction_;
  OwnRegion own_;
  std::shared_ptr<RankRegions> regions_;
  LearnRegions learn_;
  Step step_ = Step::gathering;
  ranks::KeptUntilDone<Gathered> gathered_;
  std::unique_ptr<CollectiveRequest> inner_;
  ArrayPart part_;
  std::unique_ptr<Agreement> agreement_;
  Status outcome_;
  CollectiveFigures figures_;
};

}  // namespace weir::aggregation
