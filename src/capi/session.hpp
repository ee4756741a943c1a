// The objects behind the handles of the C interface.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "aggregation/agreement.hpp"
#include "aggregation/array_file.hpp"
#include "aggregation/call_queue.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/step_file.hpp"
#include "capi/device_memory.hpp"
#include "capi/outcome.hpp"
#include "capi/ranks.hpp"
#include "checksums/checksum.hpp"
#include "formats/additions.hpp"
#include "plan/platform_description.hpp"
#include "plan/request.hpp"
#include "stored/file_description.hpp"
#include "system/step_durability.hpp"
#include "weir/weir.h"

namespace weir::capi {
struct Content;  // transfer_argument.hpp
}

// These names are part of the C interface; programs know the types only by address.
// NOLINTBEGIN(readability-identifier-naming)

struct weir_distribution {
  weir_session* session = nullptr;
  // Shared with the requests under way and with the plans that are kept.
  weir::plan::SharedDistribution shared;
  std::string text;  // "distribution 4 (BLOCK, * over 4 x 1, row-major)"

  [[nodiscard]] const weir::array::Distribution& held() const { return *shared; }
};

struct weir_array {
  weir_session* session = nullptr;
  weir_file* container = nullptr;  // the file that holds the array; null: the array is a file of
                                   // its own
  std::size_t number = 0;          // number of the array in its container
  std::unique_ptr<weir::aggregation::StepFile> own_file;
  weir::aggregation::OpenArray* file = nullptr;  // null before the container is laid out
  weir::array::Shape shape = weir::array::Shape::create({0}).value();
  weir::array::ElementType type;
  std::string type_name;
  std::string text;  // "array 3 'temperature' (10 x 20 float64)"
};

// A file: a description until it is laid out, then an open file.
struct weir_file {
  weir_session* session = nullptr;
  std::string path;
  std::string text;  // "file 3 'plot.h5'"
  weir::aggregation::FileSettings settings;
  std::string step_dimension;
  weir::storage::FileDescription description;
  std::unique_ptr<weir::aggregation::StepFile> open;
  std::vector<std::unique_ptr<weir_array>> arrays;  // while defining, in the order of `description`
  // Definitions made after the file was laid out that are not yet in the file.
  weir::storage::Additions added;
  std::vector<std::unique_ptr<weir_array>> added_arrays;  // the arrays of `added`, in their order
  // Arrays that could not be added. They are kept because programs may still hold their handles.
  std::vector<std::unique_ptr<weir_array>> refused_arrays;
};

struct weir_request {
  weir_session* session = nullptr;
  std::shared_ptr<weir::aggregation::Request> request;
  std::shared_ptr<weir::capi::Content> content;
  weir::Direction direction = weir::Direction::write;
};

struct weir_session {
  weir::capi::Ranks opened;  // owns the communicator, and is used while the session is opened
  std::unique_ptr<weir::aggregation::Collective> collective;
  std::vector<std::unique_ptr<weir_array>> arrays;
  std::vector<std::unique_ptr<weir_file>> files;
  std::unordered_set<const weir_array*> known_arrays;  // includes arrays of files, which may have
                                                       // thousands
  std::vector<std::unique_ptr<weir_distribution>> distributions;
  std::vector<std::unique_ptr<weir_request>> requests;
  weir::plan::PlatformDescription platform;
  weir::capi::DriverSearch driver_search;
  std::int64_t handles_made = 0;  // numbers arrays and distributions alike on all ranks
  std::string explanation;        // the last text that weir_session_explain() returned

  // Makes a collective call and waits until it has ended. `text` has everything that must be alike
  // on all ranks, and `prepared` is the result of this rank's check of its own arguments. When all
  // ranks have agreed, `run` does the work; it returns the same outcome on all ranks.
  template <typename Run>
  weir::capi::Outcome call(const std::string& text, const weir::capi::Outcome& prepared, Run run) {
    return make(weir::aggregation::Call::of(text, status_of(prepared)), run);
  }
  // Makes a collective call, as call() does, in which rank 0 alone finds out what all ranks need.
  template <typename Run>
  weir::capi::Outcome call_asking(const std::string& text, const weir::capi::Outcome& prepared,
                                  Run run) {
    auto call = weir::aggregation::Call::of(text, status_of(prepared));
    call.asks = true;
    return make(std::move(call), run);
  }
  // Makes a collective call with a single vote: each rank does its part, `act`, before it votes
  // with the outcome.
  template <typename Act>
  weir::capi::Outcome call_with_one_vote(const std::string& text, Act act) {
    const weir::aggregation::CallQueue::Turn turn(
        collective->calls(), weir::aggregation::Call::of(text), [&](weir::aggregation::Call& call) {
          call.possible = status_of(weir::capi::outcome_without_throwing(act));
        });
    return weir::capi::outcome_of(turn.entered());
  }
  // Makes a collective call of which each rank does its part, `act(call)`, before the vote, and
  // which rank 0 then carries out for all. `run(voted)` is called on all ranks if all made this
  // call, whatever the outcome of the vote is.
  template <typename Act, typename Run>
  weir::capi::Outcome call_in_parts(const std::string& text, Act act, Run run) {
    auto call = weir::aggregation::Call::of(text);
    call.asks = true;
    weir::aggregation::CallQueue::Turn turn(
        collective->calls(), std::move(call), [&](weir::aggregation::Call& own) {
          const auto done = weir::capi::outcome_without_throwing([&]() -> weir::capi::Outcome {
            act(own);
            return {};
          });
          if (!done.ok()) own.possible = status_of(done);
        });
    if (!turn.is_alike()) return weir::capi::outcome_of(turn.entered());
    auto outcome = weir::capi::outcome_without_throwing([&] { return run(turn.entered()); });
    turn.end(status_of(outcome));
    return outcome;
  }
  // Makes a collective call that gives something up. Until every rank makes it, all other calls of
  // the ranks are refused with `told`, so that no rank waits for this one.
  template <typename Run>
  weir::capi::Outcome call_to_give_up(const std::string& text, const weir::capi::Outcome& told,
                                      Run run) {
    auto call = weir::aggregation::Call::of(text, status_of(told));
    call.gives_up = true;
    while (true) {
      bool has_run = false;
      auto outcome = make(call, [&] {
        has_run = true;
        return run();
      });
      // Otherwise the other ranks' calls were refused, and they will make this call next.
      if (has_run || broken()) return outcome;
    }
  }
  [[nodiscard]] int rank() const { return collective->rank(); }
  [[nodiscard]] bool broken() const { return collective->calls().broken(); }
  // Returns whether the array belongs to the session or to one of its files.
  [[nodiscard]] bool holds(const weir_array* array) const;
  // Returns the same as holds(array). It is faster if `array` follows `before` in a file; `before`
  // is an array that is held, or null.
  [[nodiscard]] bool holds(const weir_array* array, const weir_array* before) const;
  [[nodiscard]] bool holds(const weir_file* file) const;
  [[nodiscard]] bool holds(const weir_distribution* distribution) const;
  void remove(const weir_array* array);
  void remove(const weir_file* file);
  void remove(const weir_distribution* distribution);
  void remove(const weir_request* request);

 private:
  template <typename Run>
  weir::capi::Outcome make(weir::aggregation::Call call, Run run) {
    weir::aggregation::CallQueue::Turn turn(collective->calls(), std::move(call));
    if (!turn.entered().ok()) return weir::capi::outcome_of(turn.entered());
    auto outcome = weir::capi::outcome_without_throwing(run);
    turn.end(status_of(outcome));
    return outcome;
  }
};

// NOLINTEND(readability-identifier-naming)

namespace weir::capi {

// Returns the error for a null handle.
[[nodiscard]] Outcome null_argument(const char* call, const char* argument);
// Returns the error for an array whose file has not begun its first step.
[[nodiscard]] Outcome not_laid_out(const char* call, const weir_array& array);
// Returns ", step 3" if the array grows and a step of it is selected, for the texts of calls.
[[nodiscard]] std::string step_text(const weir_array& array);
// Fails unless arrays and attributes can be defined now: before the first step, or between steps.
[[nodiscard]] Outcome may_be_defined(const weir_file& file);
[[nodiscard]] Outcome read_order(std::int32_t order, array::Order& result);
// Parses "none", "step" or "operation"; null means "step".
[[nodiscard]] Outcome read_durability(const weir_session& session, const char* word,
                                      aggregation::FileSettings& settings);
// Parses the name of a checksum. Null leaves `checksum` unset.
[[nodiscard]] Outcome read_checksum(const char* word, std::optional<storage::Checksum>& checksum);
[[nodiscard]] Outcome read_unwritten(const char* word, aggregation::Unwritten& unwritten);
// Fails if a reserved field is not 0: the struct was not initialized, or made for a later version.
[[nodiscard]] Outcome check_reserved(const char* options, const std::uint64_t* reserved,
                                     std::size_t count, std::int32_t flags = 0);

}  // namespace weir::capi
