// A file of which collective calls are taken over.
//
// The MPI library has the file open as well, with the same views, and its individual file pointer
// is the only one. A collective call is taken over if all ranks can do their part of it: each
// decodes its view into patterns (array/byte_pattern.hpp), all patterns together become boxes of
// one array (array/byte_grid.hpp), and the session moves these as regions of it, once for each
// pattern of the rank that has most. Otherwise all ranks pass the call on. Both ways go through the
// page cache of one node, and no write changes a byte that the program does not write, so they may
// be mixed.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/mpiio/take_over.hpp"
#include "adapters/takeover/rank_group.hpp"
#include "aggregation/byte_file.hpp"
#include "array/byte_grid.hpp"
#include "array/byte_pattern.hpp"
#include "system/file.hpp"

namespace weir::mpiio {

struct TakenFile {
  // Collective over the communicator of the opening.
  static std::unique_ptr<TakenFile> open(const Opening& opening, Reason& reason);
  TakenFile(takeover::RankGroup& ranks, storage::File own_file, MPI_File opened, int opened_mode);
  TakenFile(const TakenFile&) = delete;
  TakenFile& operator=(const TakenFile&) = delete;
  ~TakenFile();

  void set_view(Offset displacement, MPI_Datatype element, MPI_Datatype shown,
                const char* representation);
  void set_atomicity(bool is_atomic);
  // Collective.
  Moved move(const Transfer& transfer);

 private:
  // What this rank has to move.
  struct Part {
    Reason reason = Reason::taken;
    std::int64_t bytes = 0;
    std::vector<array::BytePattern> patterns;
    std::byte* memory = nullptr;         // of the first byte; the others follow
    std::vector<std::byte> packed = {};  // if the program's memory has holes
    MPI_Offset elements = 0;             // of the view
  };

  [[nodiscard]] Part part_of(const Transfer& transfer) const;
  [[nodiscard]] Reason find_bytes(const Transfer& transfer, MPI_Datatype datatype,
                                  Part& part) const;
  [[nodiscard]] Reason find_memory(const Transfer& transfer, MPI_Datatype datatype,
                                   Part& part) const;
  [[nodiscard]] bool is_past_end(const Part& part) const;
  // Moves pattern `number` of each rank, which these numbers of all ranks contain.
  Moved move_patterns(bool writing, const std::vector<std::int64_t>& told, std::byte* memory);
  Moved move_boxes(bool writing, const array::ByteGrid& grid, std::byte* memory);
  // Moves all patterns, one of each rank at a time.
  Moved move_part(bool writing, const Part& part);
  void finish(const Transfer& transfer, const Part& part) const;
  [[nodiscard]] aggregation::ByteFile* bytes();

  takeover::RankGroup& group_;
  storage::File own_;
  MPI_File file_;
  int mode_;
  std::string path_;  // of the own descriptor: it leads to the file even after it is renamed
  Reason unserved_ = Reason::taken;  // why calls with the present view are passed on
  bool atomic_ = false;
  std::optional<array::ByteView> view_ = array::ByteView();
  std::int64_t displacement_ = 0;
  std::int64_t element_bytes_ = 1;
  std::unique_ptr<aggregation::ByteFile> bytes_;  // null before the first call
};

}  // namespace weir::mpiio
