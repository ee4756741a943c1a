#include "aggregation/engines/engine_set.hpp"

#include <utility>

#include "aggregation/engines/mpiio_engine.hpp"
#include "engines/engine.hpp"

namespace weir::aggregation {
namespace {

Result<std::unique_ptr<storage::Engine>> engine_of(plan::Engine engine) {
  switch (engine) {
    case plan::Engine::uring:
      return storage::make_uring_engine();
    case plan::Engine::direct: {
      // Many transfers in flight keep the storage itself busy, if the kernel supports them.
      auto base = storage::make_uring_engine();
      return storage::make_direct_engine(base ? std::move(base).value()
                                              : storage::make_posix_engine());
    }
    case plan::Engine::mpi_io:
      return make_mpiio_engine();
    case plan::Engine::null:
      return storage::make_null_engine();
    case plan::Engine::posix:
      break;
  }
  return storage::make_posix_engine();
}

}  // namespace

EngineSet::EngineSet(Before before, std::shared_ptr<const storage::SliceMover> slice_mover)
    : before_(std::move(before)), slice_mover_(std::move(slice_mover)) {
  (void)make(plan::Engine::posix);
}

Status EngineSet::make(plan::Engine engine) {
  if (slot(engine) != nullptr) return {};
  auto made = engine_of(engine);
  if (!made) return made.error();
  std::unique_ptr<storage::Engine> own = std::move(made).value();
  if (before_) own = before_(std::move(own));
  std::shared_ptr<storage::Engine> shared = std::move(own);
  shared->expect_memory(areas_);
  shared->call_between_parts(between_);
  slot(engine) = std::make_shared<storage::OpenFiles>(std::move(shared));
  return {};
}

Status EngineSet::check(plan::Engine engine) { return make(engine); }

plan::Engines EngineSet::available() {
  plan::Engines available;
  for (const plan::Engine engine : plan::storing_engines) {
    // Only io_uring may be missing; the other engines are created when they are used.
    if (engine != plan::Engine::uring || check(engine).ok()) available.add(engine);
  }
  return available;
}

const std::shared_ptr<storage::OpenFiles>& EngineSet::open_files(plan::Engine engine) {
  (void)make(engine);
  return slot(engine);
}

void EngineSet::lose(const std::string& path, const Error& error) {
  for (const OpenFiles& files : files_) {
    if (files != nullptr) files->lose(path, error);
  }
}

Status EngineSet::close(const std::string& path) {
  Status first;
  for (const OpenFiles& files : files_) {
    if (files == nullptr) continue;
    Status closed = files->close(path);
    if (first.ok()) first = std::move(closed);
  }
  return first;
}

void EngineSet::expect_memory(std::vector<std::span<std::byte>> areas) {
  areas_ = std::move(areas);
  for (const OpenFiles& files : files_) {
    if (files != nullptr) files->engine().expect_memory(areas_);
  }
}

void EngineSet::call_between_parts(std::function<void()> call) {
  between_ = std::move(call);
  for (const OpenFiles& files : files_) {
    if (files != nullptr) files->engine().call_between_parts(between_);
  }
}

}  // namespace weir::aggregation
