#include "aggregation/engines/engine_set.hpp"

#include <utility>

#include "aggregation/engines/system_engine.hpp"

namespace weir::aggregation {
EngineSet::EngineSet(Before before, std::shared_ptr<const storage::SliceMover> slice_mover)
    : before_(std::move(before)), slice_mover_(std::move(slice_mover)) {
  (void)make(plan::Engine::posix);
}

Status EngineSet::make(plan::Engine engine) {
  if (slot(engine) != nullptr) return {};
  auto made = make_system_engine(engine);
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
