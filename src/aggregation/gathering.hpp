// An aggregator's side of a request: its pieces of the files go through its buffers, in order.
//
// A buffer is opened for the next piece when it is free, so that while one is written others fill.
// Ranks of the node copy into it themselves (node_group.hpp); what ranks of other nodes have comes
// as one message each, which is received as long as the buffer is open, and unpacked. Reading is
// the mirror image: filled from the file, opened, copied from and sent.
//
// Where ranks do not hold all of a piece, long runs are written by themselves; otherwise the piece
// is read first, changed and written back. No other rank writes into it during the request, and the
// next request begins after this one has ended on all ranks, so nothing is lost.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "aggregation/move.hpp"
#include "aggregation/node_group.hpp"
#include "array/box.hpp"
#include "plan/gather_plan.hpp"

namespace weir::aggregation {

// A part with the pieces of its file.
struct PlannedPart {
  RequestedPart asked;
  plan::PieceDomains domains;
};

// What all of a request's state machines know.
struct ExchangeContext {
  MPI_Comm communicator = MPI_COMM_NULL;
  const NodeGroup& group;
  const std::vector<PlannedPart>& parts;
  Way way = Way::write;
  std::int64_t request = 0;  // its number, from 1 on
  std::int64_t buffers = 2;
  std::int64_t rank = 0;
  CollectiveFigures& figures;

  // What opens a buffer for the piece of a turn, different for every request.
  [[nodiscard]] std::int64_t ticket(std::int64_t turn) const { return (request << 40) + turn; }
};

inline constexpr int message_tag = 17;

class Gathering {
 public:
  struct PartDuty {
    plan::Duty duty;
    std::size_t part = 0;
  };

  Gathering(const ExchangeContext& context, std::vector<PartDuty> duties);
  ~Gathering();
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  bool step();
  [[nodiscard]] bool done() const { return next_ == duties_.size() && busy_ == 0; }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  struct Message {
    std::int64_t rank = 0;
    std::int64_t elements = 0;
    std::int64_t at = 0;  // in the buffer for messages
    bool done = false;
  };
  // Of a piece in its buffer.
  struct FileRange {
    std::int64_t at = 0;
    std::int64_t bytes = 0;
  };
  struct Buffer {
    bool busy = false;
    std::size_t duty = 0;
    array::Box box;
    std::int64_t from_node = 0;  // elements
    std::vector<Message> messages;
    std::vector<MPI_Request> requests;  // one per message
    std::vector<std::byte> message_data;
    std::vector<FileRange> ranges;
  };

  void open(std::int64_t number, Buffer& buffer);
  [[nodiscard]] bool is_complete(std::int64_t number, Buffer& buffer);
  void find_ranges(Buffer& buffer, const array::Region& wanted, std::int64_t held, bool& merge);
  void start_messages(std::int64_t number, Buffer& buffer, std::int64_t element_bytes);
  // A message's elements from or into the piece's buffer.
  void copy_message(std::int64_t number, Buffer& buffer, const Message& message);
  void transfer(std::int64_t number, const Buffer& buffer, Way way);
  void fail(const Status& status);

  const ExchangeContext& context_;
  std::vector<PartDuty> duties_;
  std::size_t next_ = 0;
  int busy_ = 0;
  std::vector<Buffer> buffers_;
  Status status_;
};

}  // namespace weir::aggregation
