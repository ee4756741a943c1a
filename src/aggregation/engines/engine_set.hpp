// The engines of one Collective on this rank, each with its open files. An engine is created when
// it is first used, so that unused engines cost nothing.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "engines/open_files.hpp"
#include "plan/engine.hpp"

namespace weir::aggregation {

class EngineSet {
 public:
  using Before = std::function<std::unique_ptr<storage::Engine>(std::unique_ptr<storage::Engine>)>;

  // The arguments are CollectiveSettings::before_engine and CollectiveSettings::slice_mover.
  explicit EngineSet(Before before = nullptr,
                     std::shared_ptr<const storage::SliceMover> slice_mover = nullptr);

  // Returns whether this rank has the engine, and if not, the reason.
  [[nodiscard]] Status check(plan::Engine engine);
  // Returns the engines that this rank has.
  [[nodiscard]] plan::Engines available();
  // Returns the open files of an engine that this rank has.
  [[nodiscard]] const std::shared_ptr<storage::OpenFiles>& open_files(plan::Engine engine);

  [[nodiscard]] const std::shared_ptr<const storage::SliceMover>& slice_mover() const {
    return slice_mover_;
  }

  // Calls OpenFiles::lose() for each engine.
  void lose(const std::string& path, const Error& error);

  // Closes a file in each engine, and returns the first error.
  Status close(const std::string& path);

  // Declares the memory used by most transfers (Engine::expect_memory).
  void expect_memory(std::vector<std::span<std::byte>> areas);

  // Calls Engine::call_between_parts() for each engine.
  void call_between_parts(std::function<void()> call);

 private:
  using OpenFiles = std::shared_ptr<storage::OpenFiles>;
  [[nodiscard]] OpenFiles& slot(plan::Engine engine) {
    return files_.at(static_cast<std::size_t>(engine));
  }
  Status make(plan::Engine engine);

  Before before_;
  std::shared_ptr<const storage::SliceMover> slice_mover_;
  std::array<OpenFiles, plan::engine_count> files_;  // null: not created yet
  std::vector<std::span<std::byte>> areas_;
  std::function<void()> between_;
};

}  // namespace weir::aggregation
