// A write or read of every rank's own region of one array, as a state machine:
//
//   sharing     the node's ranks share memory for one more table of regions, where there is no
//               place for it (region_tables.hpp)
//   gathering   each rank has set its region in the table of its node; the ranks agree on that
//   combining   the first rank of each node: the regions of other nodes, then the table is made
//   inner       a CollectiveRequest by that table, as by any distribution of boxes
//   ended
//
// Regions that are known from before begin with the inner request.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "aggregation/agreement.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/collective_state.hpp"
#include "aggregation/memory_sharing.hpp"
#include "aggregation/node_combination.hpp"
#include "aggregation/request.hpp"
#include "array/box_table.hpp"

namespace weir::aggregation {

class RegionRequest final : public Request {
 public:
  // `known`: all ranks' regions as an earlier request had them, the same on all ranks; nothing:
  // they are gathered. `learn` is called with those that were.
  RegionRequest(CollectiveState& state, OpenArray& file, Direction direction, const OwnRegion& own,
                std::optional<plan::SharedDistribution> known, LearnRegions learn);
  RegionRequest(const RegionRequest&) = delete;
  RegionRequest& operator=(const RegionRequest&) = delete;
  ~RegionRequest() override;

  [[nodiscard]] bool test() override;
  Status wait() override;
  [[nodiscard]] const CollectiveFigures& figures() const override { return figures_; }

 private:
  enum class Step : std::uint8_t { sharing, gathering, combining, inner, ended };

  void begin_gathering();
  // Goes on until something has to be waited for. Returns whether anything happened.
  bool advance();
  void take_memory();
  void set_own(const Status& possible);
  void end_gathering();
  bool combine();
  void make_table();
  void take_table();
  void begin_moving();
  void end(Status outcome);
  // Ends the request where messages may still be under way.
  void give_up(const Error& error);
  // Whether the session was revoked: the request has then ended.
  bool is_revoked();
  [[nodiscard]] array::BoxTable table_in(std::shared_ptr<std::byte> image) const;

  CollectiveState& state_;
  OpenArray& file_;
  Direction direction_;
  OwnRegion own_;
  std::optional<plan::SharedDistribution> regions_;
  LearnRegions learn_;
  Step step_ = Step::sharing;
  std::int64_t table_bytes_ = 0;
  std::optional<MemorySharing> sharing_;
  bool added_ = false;  // memory, for this request
  std::unique_ptr<Agreement> agreement_;
  std::unique_ptr<NodeCombination> combination_;
  std::unique_ptr<CollectiveRequest> inner_;
  ArrayPart part_;
  Status outcome_;
  CollectiveFigures figures_;
};

}  // namespace weir::aggregation
