// A file of an interface that moves bytes by one of the library's engines. A part of an array is
// moved with one call for each of its runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engines/engine.hpp"
#include "interfaces/interface.hpp"

namespace weir::bench {

class FileOfEngine final : public File {
 public:
  FileOfEngine(storage::Engine& engine, std::unique_ptr<storage::EngineFile> file,
               storage::Durability durability, const FileRequest& request)
      : engine_(engine), file_(std::move(file)), durability_(durability), runs_(request.runs) {}

  Status move(const TransferRequest& request) override {
    if (request.durability == storage::Durability::none) {
      const storage::Slice slice{request.buffer, request.bytes};
      const storage::FileRange range{file_.get(), request.offset, {&slice, 1}};
      storage::FileTraffic traffic;
      return request.direction == Direction::read ? engine_.read({&range, 1}, traffic)
                                                  : engine_.write({&range, 1}, traffic);
    }
    storage::PieceRequest piece;
    if (Status begun = submit(piece, request); !begun) return begun;
    return engine_.wait(piece, storage::no_deadline);
  }

  Status submit(storage::PieceRequest& piece, const TransferRequest& request) override {
    piece.set(request.direction, *file_, request.offset, request.buffer, request.bytes,
              request.durability);
    return engine_.submit(piece);
  }

  Status move_part(Direction direction, std::byte* memory) override {
    Status status;
    for_each_run(*runs_, [&](std::int64_t from, std::int64_t to, std::int64_t bytes) {
      status =
          move({.direction = direction, .buffer = memory + from, .bytes = bytes, .offset = to});
      return status.ok();
    });
    return status;
  }

  Status sync() override {
    storage::EngineFile* const file = file_.get();
    return engine_.sync({&file, 1}, durability_);
  }

  Status close() override { return file_->close(); }

 private:
  storage::Engine& engine_;
  std::unique_ptr<storage::EngineFile> file_;
  storage::Durability durability_;
  const std::vector<array::StridedCopy>* runs_;
};

}  // namespace weir::bench
