// Calls on files that are laid out: opening, steps, queries of steps, and closing.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capi/chosen_chunks.hpp"
#include "capi/definition.hpp"
#include "capi/extents_argument.hpp"
#include "capi/session.hpp"

namespace weir::capi {
namespace {

Outcome open(weir_session& session, const char* path, const weir_file_open_options* options,
             weir_file** result) {
  Outcome prepared;
  bool writable = true;
  auto file = std::make_unique<weir_file>();
  const char* durability = nullptr;
  const char* checksum = nullptr;
  const char* unwritten = nullptr;
  if (options != nullptr) {
    prepared = check_reserved("weir_file_open_options", std::data(options->reserved),
                              std::size(options->reserved));
    writable = options->read_only == 0;
    durability = options->durability;
    checksum = options->checksum;
    unwritten = options->unwritten;
    file->settings.rewrite = options->rewrite != 0;
    if (prepared.ok() && !writable && file->settings.rewrite) {
      prepared = bad_argument("options.read_only and rewrite are both set: set one of them");
    }
  }
  if (prepared.ok()) prepared = read_durability(session, durability, file->settings);
  if (prepared.ok()) prepared = read_checksum(checksum, file->settings.checksum);
  if (prepared.ok()) prepared = read_unwritten(unwritten, file->settings.unwritten);
  if (path == nullptr) prepared = bad_argument("path is null");
  if (result == nullptr) prepared = bad_argument("file is null");
  if (!prepared.ok()) prepared.text.insert(0, "weir_file_open: ");
  return session.call_asking(
      fmt::format("weir_file_open(path {}, {}, durability {}, checksum {}, unwritten {})",
                  quoted(path),
                  file->settings.rewrite ? "to rewrite"
                  : writable             ? "writable"
                                         : "read-only",
                  quoted(durability), quoted(checksum), quoted(unwritten)),
      prepared, [&]() -> Outcome {
        auto opened = session.collective->open_file(path, file->settings, writable);
        if (!opened) return outcome_of(opened.error(), "weir_file_open");
        file->session = &session;
        file->path = path;
        file->open = std::move(opened).value();
        file->settings.format = file->open->format();
        file->text = fmt::format("file {} '{}'", ++session.handles_made, file->path);
        file->arrays.resize(static_cast<std::size_t>(file->open->arrays()));
        *result = file.get();
        session.files.push_back(std::move(file));
        return {};
      });
}

// Returns the state on which the call depends, for ranks to compare; before the file is laid out,
// this is the definition.
std::string state_of(const weir_file& file) {
  if (file.open != nullptr) {
    std::string added;
    if (!file.added.empty()) {
      added = ", adding " +
              definition_text({.arrays = file.added.arrays, .groups = file.added.attributes});
    }
    return fmt::format("{} steps{}{}", file.open->steps(), file.open->in_step() ? ", in one" : "",
                       added);
  }
  const aggregation::FileSettings& settings = file.settings;
  return fmt::format(
      "{}, format {}, durability {}, checksum {}, unwritten {}", definition_text(file.description),
      quoted(settings.format.c_str()),
      aggregation::name_of(aggregation::FileDurability{settings.durability, settings.in_journal}),
      settings.checksum ? static_cast<int>(*settings.checksum) : -1,
      static_cast<int>(settings.unwritten));
}

// A misspelt name of an owner would create a group of that name.
Outcome check_owners_of_attributes(const weir_file& file) {
  for (const storage::GroupDescription& group : file.description.groups) {
    const bool is_there =
        group.name.empty() ||
        std::any_of(file.description.arrays.begin(), file.description.arrays.end(),
                    [&](const auto& array) { return array.name.starts_with(group.name + "/"); });
    if (is_there) continue;
    return bad_argument(
        fmt::format("weir_file_step_begin: an attribute was given to {}, but {} has neither an "
                    "array nor a group of this name",
                    quoted(group.name.c_str()), file.text));
  }
  return {};
}

// Drops the definitions that cannot be added, or that differ between ranks. They would otherwise
// keep all later steps from beginning.
void give_up_defined(weir_file& file) {
  file.added = {};
  auto handles = std::exchange(file.added_arrays, {});
  std::move(handles.begin(), handles.end(), std::back_inserter(file.refused_arrays));
}

// Adds to the file what was defined since it was laid out.
Outcome add_defined(weir_file& file, const char* call) {
  storage::Additions added = file.added;
  std::vector<array::Shape> shapes;
  shapes.reserve(file.added_arrays.size());
  for (const auto& one : file.added_arrays) shapes.push_back(one->shape);
  choose_chunks(*file.session, file.settings.format, shapes, added.arrays);
  const Status done = file.session->collective->extend_file(*file.open, added);
  if (!done.ok()) return outcome_of(done, call);
  file.added = {};
  for (auto& handle : std::exchange(file.added_arrays, {})) {
    handle->number = file.arrays.size();
    handle->file = &file.open->array(static_cast<std::int64_t>(handle->number));
    file.arrays.push_back(std::move(handle));
  }
  return {};
}

Outcome extend(weir_file& file) {
  weir_session& session = *file.session;
  constexpr const char* call = "weir_file_extend";
  Outcome prepared;
  if (file.open == nullptr) {
    prepared = bad_argument(fmt::format(
        "{}: {} is not on disk yet: its first step will contain what is defined", call, file.text));
  }
  auto extended =
      session.call_asking(fmt::format("{}({}, {})", call, file.text, state_of(file)), prepared,
                          [&]() -> Outcome { return add_defined(file, call); });
  if (!extended.ok()) give_up_defined(file);
  return extended;
}

Outcome begin_step(weir_file& file) {
  weir_session& session = *file.session;
  const auto begin = [&]() -> Outcome {
    constexpr const char* call = "weir_file_step_begin";
    if (file.open != nullptr && !file.added.empty()) {
      if (auto added = add_defined(file, call); !added.ok()) return added;
      return outcome_of(session.collective->begin_step(*file.open), call);
    }
    if (file.open != nullptr) {
      return outcome_of(session.collective->begin_step(*file.open), call);
    }
    auto created =
        session.collective->create_file(file.path, with_chosen_chunks(file), file.settings);
    if (!created) return outcome_of(created.error(), call);
    file.open = std::move(created).value();
    for (std::size_t i = 0; i < file.arrays.size(); ++i) {
      file.arrays[i]->file = &file.open->array(static_cast<std::int64_t>(i));
    }
    return {};
  };
  Outcome prepared = file.open == nullptr ? check_owners_of_attributes(file) : Outcome{};
  auto begun = session.call_asking(
      fmt::format("weir_file_step_begin({}, {})", file.text, state_of(file)), prepared, begin);
  if (!begun.ok()) give_up_defined(file);
  return begun;
}

// Fails in a step, whose own end has not come yet.
Outcome between_steps(const weir_file& file, const char* call) {
  if (file.open == nullptr || !file.open->in_step()) return {};
  return bad_argument(fmt::format("{}: a step of {} has begun: end it first", call, file.text));
}

Outcome end_step(weir_file& file) {
  weir_session& session = *file.session;
  constexpr const char* name = "weir_file_step_end";
  return session.call_in_parts(
      fmt::format("{}({})", name, file.text),
      [&](aggregation::Call& call) {
        if (file.open != nullptr) session.collective->end_own_step(*file.open, call);
      },
      [&](const Status& voted) -> Outcome {
        if (file.open == nullptr) {
          return bad_argument(fmt::format("{}: no step of {} has begun", name, file.text));
        }
        return outcome_of(session.collective->end_step(*file.open, voted), name);
      });
}

Outcome wait_for_step(weir_file& file, double seconds) {
  weir_session& session = *file.session;
  constexpr const char* call = "weir_file_step_wait";
  Outcome prepared;
  if (std::isnan(seconds) || seconds < 0) {
    prepared = bad_argument(fmt::format("{}: seconds is {}: give 0 or more", call, seconds));
  }
  return session.call_asking(
      fmt::format("{}({}, {})", call, file.text, seconds), prepared, [&]() -> Outcome {
        if (Outcome possible = between_steps(file, call); !possible.ok()) return possible;
        if (file.open == nullptr) return {};
        return outcome_of(session.collective->wait_for_step(*file.open, seconds), call);
      });
}

Outcome test_step(weir_file& file, std::int32_t* stored) {
  weir_session& session = *file.session;
  constexpr const char* call = "weir_file_step_test";
  Outcome prepared;
  if (stored == nullptr) prepared = null_argument(call, "stored");
  return session.call_asking(fmt::format("{}({})", call, file.text), prepared, [&]() -> Outcome {
    if (Outcome possible = between_steps(file, call); !possible.ok()) return possible;
    *stored = 1;
    if (file.open == nullptr) return {};
    const auto found = session.collective->is_step_stored(*file.open);
    if (!found) return outcome_of(found.error(), call);
    *stored = found.value() ? 1 : 0;
    return {};
  });
}

Outcome abort_step(weir_file& file, const char* reason) {
  weir_session& session = *file.session;
  constexpr const char* call = "weir_file_step_abort";
  const std::string text = fmt::format("weir_file_step_abort({})", file.text);
  if (file.open == nullptr || !file.open->in_step()) {
    return session.call(text, {}, [&]() -> Outcome {
      return bad_argument(fmt::format("{}: no step of {} has begun", call, file.text));
    });
  }
  const bool has_reason = reason != nullptr && *reason != '\0';
  const Outcome told = failure(
      WEIR_E_ABORTED,
      fmt::format("{}: this rank has given up step {} of {}{}{}; give it up on every rank", call,
                  file.open->steps(), file.text, has_reason ? ": " : "", has_reason ? reason : ""));
  return session.call_to_give_up(text, told, [&]() -> Outcome {
    const bool was_first = !file.open->is_published();
    const Status aborted = session.collective->abort_step(*file.open);
    if (was_first && !file.open->in_step()) {
      // The file is no longer laid out, and is a definition again.
      for (const auto& array : file.arrays) array->file = nullptr;
      file.open.reset();
    }
    return outcome_of(aborted, call);
  });
}

Outcome drop_steps(weir_file& file, std::int64_t steps) {
  weir_session& session = *file.session;
  constexpr const char* call = "weir_file_drop_steps";
  return session.call(fmt::format("{}({}, steps {})", call, file.text, steps), {},
                      [&]() -> Outcome {
                        if (file.open == nullptr) {
                          return bad_argument(fmt::format("{}: {} has no step", call, file.text));
                        }
                        return outcome_of(session.collective->drop_steps(*file.open, steps), call);
                      });
}

Outcome close(weir_file& file) {
  weir_session& session = *file.session;
  auto outcome = session.call_with_one_vote(fmt::format("weir_file_close({})", file.text), [&] {
    return file.open == nullptr
               ? Outcome()
               : outcome_of(session.collective->close_own_part(*file.open), "weir_file_close");
  });
  if (outcome.ok() && file.open != nullptr && !file.added.empty()) {
    outcome = bad_argument(
        fmt::format("weir_file_close: {} arrays and attributes of {} owners are not in {}, because "
                    "they were defined after its latest step began: call weir_file_extend first",
                    file.added.arrays.size(), file.added.attributes.size(), file.text));
  }
  // The handle is removed whether or not closing succeeded. In a broken session it is kept, because
  // messages may be under way.
  if (!session.broken()) session.remove(&file);
  return outcome;
}

}  // namespace
}  // namespace weir::capi

extern "C" {

int weir_file_open(weir_session* session, const char* path, const weir_file_open_options* options,
                   weir_file** file) {
  if (file != nullptr) *file = nullptr;
  return weir::capi::report_outcome_of([&] {
    if (session == nullptr) return weir::capi::null_argument("weir_file_open", "session");
    return weir::capi::open(*session, path, options, file);
  });
}

int weir_file_step_begin(weir_file* file) {
  return weir::capi::report_outcome_of([&] {
    if (file == nullptr) return weir::capi::null_argument("weir_file_step_begin", "file");
    return weir::capi::begin_step(*file);
  });
}

int weir_file_extend(weir_file* file) {
  return weir::capi::report_outcome_of([&] {
    if (file == nullptr) return weir::capi::null_argument("weir_file_extend", "file");
    return weir::capi::extend(*file);
  });
}

int weir_file_step_end(weir_file* file) {
  return weir::capi::report_outcome_of([&] {
    if (file == nullptr) return weir::capi::null_argument("weir_file_step_end", "file");
    return weir::capi::end_step(*file);
  });
}

int weir_file_step_wait(weir_file* file, double seconds) {
  return weir::capi::report_outcome_of([&] {
    if (file == nullptr) return weir::capi::null_argument("weir_file_step_wait", "file");
    return weir::capi::wait_for_step(*file, seconds);
  });
}

int weir_file_step_test(weir_file* file, std::int32_t* stored) {
  return weir::capi::report_outcome_of([&] {
    if (file == nullptr) return weir::capi::null_argument("weir_file_step_test", "file");
    return weir::capi::test_step(*file, stored);
  });
}

int weir_file_step_abort(weir_file* file, const char* reason) {
  return weir::capi::report_outcome_of([&] {
    if (file == nullptr) return weir::capi::null_argument("weir_file_step_abort", "file");
    return weir::capi::abort_step(*file, reason);
  });
}

int weir_file_drop_steps(weir_file* file, std::int64_t steps) {
  return weir::capi::report_outcome_of([&] {
    if (file == nullptr) return weir::capi::null_argument("weir_file_drop_steps", "file");
    return weir::capi::drop_steps(*file, steps);
  });
}

std::int32_t weir_file_in_step(const weir_file* file) {
  if (file == nullptr) {
    return weir::capi::report(weir::capi::null_argument("weir_file_in_step", "file"));
  }
  return file->open != nullptr && file->open->in_step() ? 1 : 0;
}

std::int64_t weir_file_steps(const weir_file* file) {
  if (file == nullptr) {
    return weir::capi::report(weir::capi::null_argument("weir_file_steps", "file"));
  }
  return file->open == nullptr ? 0 : file->open->steps();
}

std::int64_t weir_file_unwritten(const weir_file* file) {
  if (file == nullptr) {
    return weir::capi::report(weir::capi::null_argument("weir_file_unwritten", "file"));
  }
  return file->open == nullptr ? 0 : std::ssize(file->open->unwritten());
}

const char* weir_file_unwritten_name(const weir_file* file, std::int64_t number) {
  constexpr const char* call = "weir_file_unwritten_name";
  if (file == nullptr) {
    weir::capi::report(weir::capi::null_argument(call, "file"));
    return nullptr;
  }
  const std::int64_t count = file->open == nullptr ? 0 : std::ssize(file->open->unwritten());
  if (number < 0 || number >= count) {
    weir::capi::report(weir::capi::bad_argument(fmt::format(
        "{}: number is {}, but there are {} arrays, numbered from 0", call, number, count)));
    return nullptr;
  }
  const auto array = file->open->unwritten()[static_cast<std::size_t>(number)];
  return file->open->array(array).name().c_str();
}

int weir_file_select_step(weir_file* file, std::int64_t step) {
  return weir::capi::report_outcome_of([&]() -> weir::capi::Outcome {
    constexpr const char* call = "weir_file_select_step";
    if (file == nullptr) return weir::capi::null_argument(call, "file");
    if (file->open == nullptr) {
      return weir::capi::bad_argument(fmt::format("{}: {} has no step yet", call, file->text));
    }
    return weir::capi::outcome_of(file->open->select_step(step), call);
  });
}

int weir_file_close(weir_file** file) {
  return weir::capi::report_outcome_of([&] {
    if (file == nullptr || *file == nullptr) {
      return weir::capi::null_argument("weir_file_close", "file");
    }
    return weir::capi::close(*std::exchange(*file, nullptr));
  });
}

}  // extern "C"
