// The engines of one Collective on this rank, each with the files that it has open. Made when it is
// first asked for, so that what is not used costs nothing.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.hpp"
#include "plan/engine.hpp"
#include "storage/open_files.hpp"

namespace weir::aggregation {

class EngineSet {
 public:
  using Before = std::function<std::unique_ptr<storage::Engine>(std::unique_ptr<storage::Engine>)>;

  // CollectiveSettings::before_engine and CollectiveSettings::slice_mover.
  explicit EngineSet(Before before = nullptr,
                     std::shared_ptr<const storage::SliceMover> slice_mover = nullptr);

  // Whether this rank has the engine; the reason where it has not.
  [[nodiscard]] Status check(plan::Engine engine);
  // The engines that this rank has.
  [[nodiscard]] plan::Engines available();
  // The open files of an engine that this rank has.
  [[nodiscard]] const std::shared_ptr<storage::OpenFiles>& open_files(plan::Engine engine);

  [[nodiscard]] const std::shared_ptr<const storage::SliceMover>& slice_mover() const {
    return slice_mover_;
  }

  // OpenFiles::lose() of each engine.
  void lose(const std::string& path, const Error& error);

  // Memory that most transfers will come from and go to (Engine::expect_memory).
  void expect_memory(std::vector<std::span<std::byte>> areas);

  // Engine::call_between_parts() of each engine.
  void call_between_parts(std::function<void()> call);

 private:
  using OpenFiles = std::shared_ptr<storage::OpenFiles>;
  [[nodiscard]] OpenFiles& slot(plan::Engine engine) {
    return files_.at(static_cast<std::size_t>(engine));
  }
  Status make(plan::Engine engine);

  Before before_;
  std::shared_ptr<const storage::SliceMover> slice_mover_;
  std::array<OpenFiles, plan::engine_count> files_;  // null: not made yet
  std::vector<std::span<std::byte>> areas_;
  std::function<void()> between_;
};

}  // namespace weir::aggregation
