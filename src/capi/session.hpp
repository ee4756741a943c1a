// What the handles of the C interface stand for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "aggregation/array_file.hpp"
#include "aggregation/collective.hpp"
#include "aggregation/step_file.hpp"
#include "capi/known_regions.hpp"
#include "capi/operation.hpp"
#include "capi/outcome.hpp"
#include "capi/ranks.hpp"
#include "plan/platform_description.hpp"
#include "plan/request.hpp"
#include "storage/formats/additions.hpp"
#include "storage/formats/file_description.hpp"
#include "storage/step_durability.hpp"
#include "storage/sums/checksum.hpp"
#include "weir/weir.h"

// The names are C's; each is known by its address only.
// NOLINTBEGIN(readability-identifier-naming)

struct weir_distribution {
  weir_session* session = nullptr;
  // Shared with the requests under way, and with the plans that are kept.
  weir::plan::SharedDistribution shared;
  std::string text;  // "distribution 4 (BLOCK, * over 4 x 1, row-major)"
  std::uint64_t digest = weir::capi::digest_of(text);

  [[nodiscard]] const weir::array::Distribution& held() const { return *shared; }
};

struct weir_array {
  weir_session* session = nullptr;
  weir_file* container = nullptr;  // the file that it is in; null: it is a file of its own
  std::size_t number = 0;          // there
  std::unique_ptr<weir::aggregation::OpenArray> own_file;
  weir::aggregation::OpenArray* file = nullptr;  // null before the container is laid out
  std::uint64_t digest = 0;                      // of the text
  weir::array::Shape shape = weir::array::Shape::create({0}).value();
  weir::array::ElementType type;
  std::string type_name;
  std::string text;  // "array 3 'temperature' (10 x 20 float64)"

  void set_text(std::string given) {
    text = std::move(given);
    digest = weir::capi::digest_of(text);
  }
};

// Until it is laid out, a description; from then on the open file.
struct weir_file {
  weir_session* session = nullptr;
  std::string path;
  std::string text;  // "file 3 'plot.h5'"
  weir::aggregation::FileSettings settings;
  std::string step_dimension;
  weir::storage::FileDescription description;
  std::unique_ptr<weir::aggregation::StepFile> open;
  std::vector<std::unique_ptr<weir_array>> arrays;  // while defining, as in the description
  // What was defined since the file is laid out and is not in it yet.
  weir::storage::Additions added;
  std::vector<std::unique_ptr<weir_array>> added_arrays;  // those of `added`, in their order
  // Arrays that could not be added: programs may still hold them.
  std::vector<std::unique_ptr<weir_array>> refused_arrays;
};

struct weir_request {
  weir_session* session = nullptr;
  std::shared_ptr<weir::capi::Operation> operation;
};

struct weir_session {
  weir::capi::Ranks ranks;
  weir::capi::OperationQueue queue{ranks};
  std::unique_ptr<weir::aggregation::Collective> collective;
  std::vector<std::unique_ptr<weir_array>> arrays;
  std::vector<std::unique_ptr<weir_file>> files;
  std::unordered_set<const weir_array*> known_arrays;  // those of files too: these have thousands
  std::vector<std::unique_ptr<weir_distribution>> distributions;
  std::vector<std::unique_ptr<weir_request>> requests;
  weir::capi::KnownRegions known_regions;
  weir::plan::PlatformDescription platform;
  std::int64_t handles_made = 0;  // numbers arrays and distributions, alike on all ranks
  bool has_figures = false;
  std::string explanation;  // the last, that weir_session_explain() gave

  // A collective call that waits: submits it and sees it through.
  weir::capi::Outcome call(std::string text, weir::capi::Outcome prepared,
                           std::function<weir::capi::Outcome()> run);
  // A collective call that waits, of something that rank 0 alone finds out.
  weir::capi::Outcome call_asking(
      std::string text, weir::capi::Outcome prepared,
      std::function<weir::capi::Outcome(const weir::aggregation::Asked&)> ask);
  // A collective call that gives something up. Until every rank makes it, all other calls that the
  // ranks make are refused with `told`, so that none of them waits for this rank.
  weir::capi::Outcome call_to_give_up(std::string text, weir::capi::Outcome told,
                                      std::function<weir::capi::Outcome()> run);
  // Whether the array is one of the session's own or in one of its files.
  [[nodiscard]] bool holds(const weir_array* array) const;
  // The answer of holds(array), found sooner where it follows `before`, which is held, in a file;
  // null: no such array is known.
  [[nodiscard]] bool holds(const weir_array* array, const weir_array* before) const;
  [[nodiscard]] bool holds(const weir_file* file) const;
  [[nodiscard]] bool holds(const weir_distribution* distribution) const;
  void remove(const weir_array* array);
  void remove(const weir_file* file);
  void remove(const weir_distribution* distribution);
  void remove(const weir_request* request);
};

// NOLINTEND(readability-identifier-naming)

namespace weir::capi {

// The refusal of a null handle.
[[nodiscard]] Outcome null_argument(const char* call, const char* argument);
// The refusal of an array whose file has not begun its first step.
[[nodiscard]] Outcome not_laid_out(const char* call, const weir_array& array);
// Whether arrays and attributes can be defined: before the first step, and between steps.
[[nodiscard]] Outcome may_be_defined(const weir_file& file);
// "none", "step", "operation"; null: "step".
[[nodiscard]] Outcome read_durability(const char* word, storage::StepDurability& durability);
// Null: not told.
[[nodiscard]] Outcome read_checksum(const char* word, std::optional<storage::Checksum>& checksum);
[[nodiscard]] Outcome read_unwritten(const char* word, aggregation::Unwritten& unwritten);
// Fails when a reserved field is not 0: the struct was not initialised, or made for a later Weir.
[[nodiscard]] Outcome check_reserved(const char* options, const std::uint64_t* reserved,
                                     std::size_t count, std::int32_t flags = 0);

}  // namespace weir::capi
