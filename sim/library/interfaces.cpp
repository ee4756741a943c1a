// In place of bench/interfaces/posix.cpp and mpiio.cpp: files whose operations take the time of the
// simulated machine.
#include <memory>
#include <utility>

#include "aggregation/engines/system_engine.hpp"
#include "interfaces/file_of_engine.hpp"
#include "interfaces/interface.hpp"

namespace weir::bench {
namespace {

// Every rank moves its own bytes, one call after the other.
class PosixSession final : public Session {
 public:
  PosixSession(std::unique_ptr<storage::Engine> engine, const SessionSettings& settings)
      : Session(settings), engine_(std::move(engine)) {}

  Result<std::unique_ptr<File>> open(const FileRequest& request) override {
    auto file = engine_->open(request.path, {.write = request.write, .create = request.create});
    if (!file) return file.error();
    return std::unique_ptr<File>(std::make_unique<FileOfEngine>(*engine_, std::move(file).value(),
                                                                settings().durability, request));
  }

 private:
  std::unique_ptr<storage::Engine> engine_;
};

}  // namespace

Result<std::unique_ptr<Session>> open_posix(const Interface& /*interface*/,
                                            const SessionSettings& settings) {
  auto engine = aggregation::make_system_engine(plan::Engine::posix);
  if (!engine) return engine.error();
  return std::unique_ptr<Session>(
      std::make_unique<PosixSession>(std::move(engine).value(), settings));
}

// Files of SMPI store nothing and cost the wrong time.
Result<std::unique_ptr<Session>> open_mpiio(const Interface& /*interface*/,
                                            const SessionSettings& /*settings*/) {
  return Error(ErrorCode::unsupported,
               "simulated ranks have no MPI-IO: choose the interface weir or posix");
}

}  // namespace weir::bench
