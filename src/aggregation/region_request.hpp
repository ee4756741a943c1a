// A write or read of every rank's own region of one array, as a state machine:
//
//   sharing     the node's ranks share memory for another table of regions, if there is no place
//               for one (region_tables.hpp)
//   gathering   each rank sets its region in the table of its node, and the ranks agree on that
//   combining   the first rank of each node adds the regions of other nodes and creates the table
//   checking    before a write: the ranks agree that no regions overlap
//   inner       a CollectiveRequest moves the data, with this table as a distribution of boxes
//   ended
//
// If all ranks remember the regions, and for a write also that they do not overlap, the request
// begins with the inner request.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "aggregation/agreement.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/collective_state.hpp"
#include "aggregation/known_regions.hpp"
#include "aggregation/memory_sharing.hpp"
#include "aggregation/node_combination.hpp"
#include "aggregation/request.hpp"
#include "array/box_table.hpp"

namespace weir::aggregation {

class RegionRequest final : public RequestWork {
 public:
  RegionRequest(CollectiveState& state, OpenArray* file, Direction direction, const OwnRegion& own);

  // Looks for regions that this rank remembers. Returns their number, which is compared
  // (Call::remembered); if this rank remembers nothing, a number that no other rank gives.
  [[nodiscard]] std::int64_t find_known();

  void begin(bool all_remember_the_same) override;
  void refuse(const Status& outcome) override;
  [[nodiscard]] bool test() override;
  [[nodiscard]] Status wait() override;
  [[nodiscard]] const CollectiveFigures& figures() const override { return figures_; }

 private:
  enum class Step : std::uint8_t { sharing, gathering, combining, checking, inner, ended };

  void begin_gathering();
  // Continues until it has to wait for something. Returns whether anything happened.
  bool advance();
  void take_memory();
  void set_own(const Status& possible);
  void end_gathering();
  bool combine();
  void make_table();
  void take_table();
  // Gives the inner request the regions, and checks that this rank's overlaps no others.
  [[nodiscard]] Status take_regions();
  void begin_agreement(const Call& call);
  void begin_moving(const Status& possible);
  void end(Status outcome);
  // Ends the request while messages may still be under way.
  void give_up(const Error& error);
  // Returns whether the session was revoked, which ends the request.
  bool is_revoked();
  [[nodiscard]] array::BoxTable table_in(std::shared_ptr<std::byte> image) const;

  CollectiveState& state_;
  OpenArray* file_;
  Direction direction_;
  OwnRegion own_;
  std::shared_ptr<const KnownRegions::Known> known_;
  std::optional<plan::SharedDistribution> regions_;
  Step step_ = Step::sharing;
  std::int64_t table_bytes_ = 0;
  std::optional<MemorySharing> sharing_;
  bool added_ = false;  // memory was added for this request
  std::unique_ptr<Agreement> agreement_;
  std::unique_ptr<NodeCombination> combination_;
  std::unique_ptr<CollectiveRequest> inner_;
  ArrayPart part_;
  Status outcome_;
  CollectiveFigures figures_;
};

}  // namespace weir::aggregation
