// The rates of messages and of I/O, each alone and beside the other, over the repetitions of a
// configuration.
//
// A rate of a repetition is ranks × (bytes of all ranks) / (seconds of all ranks): the sum of the
// ranks' own rates, where a rank counts by its time.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measurement/job.hpp"
#include "measurement/repetition.hpp"
#include "workloads/madbench/exchanges.hpp"

namespace weir::bench::madbench {

class MessageFigures {
 public:
  // Adds a counted repetition. Collective.
  void add(const Job& job, const OfRepetition& mine);

  // The following functions are for rank 0.
  //
  // Returns run.json's "messages" without the losses: for each of messages, write and read what was
  // moved alone, and together with the other. `synchronous` are the figures of the SYNC sibling,
  // and `id` is its run; without a sibling null.
  [[nodiscard]] nlohmann::ordered_json to_json(const RepetitionPolicy& policy,
                                               const MessageFigures* synchronous,
                                               const std::string& id) const;
  // Returns a line for each of messages, write and read that was moved both alone, in the sibling,
  // and together with the other.
  [[nodiscard]] std::string lines(const MessageFigures& synchronous) const;

 private:
  struct Rates {  // by repetition; nothing where nothing was moved so
    std::vector<std::optional<double>> alone;
    std::vector<std::optional<double>> together;
    std::vector<double> together_share;  // of the bytes
  };
  // Returns the ratios of rates together to rates alone, of the same repetition.
  [[nodiscard]] static std::vector<double> kept(const Rates& together, const Rates& alone);

  std::array<Rates, 3> kinds_;  // messages, write, read
};

}  // namespace weir::bench::madbench
