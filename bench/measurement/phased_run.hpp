// A configuration whose repetition consists of a phase of writing and a phase of reading. A
// workload derives from it and carries out a repetition.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

#include "measurement/phase_results.hpp"
#include "measurement/swept_run.hpp"

namespace weir::bench {

class PhasedRun : public SweptRun {
 public:
  // `run` is the run.json so far, on rank 0.
  PhasedRun(std::string label, std::string slug, ResultSubject subject, nlohmann::ordered_json run)
      : results_(std::move(subject), std::move(run)),
        label_(std::move(label)),
        slug_(std::move(slug)) {}

  [[nodiscard]] const std::string& label() const override { return label_; }
  [[nodiscard]] const std::string& slug() const override { return slug_; }
  void add(const JobFacts& facts, const RepetitionPlace& place) override {
    results_.add(facts, record_, place);
  }
  void finish(const JobFacts& facts, const nlohmann::ordered_json& environment,
              const nlohmann::ordered_json& clocks) override {
    results_.finish(facts, environment, clocks);
  }
  [[nodiscard]] std::span<const Event> events() const override { return results_.events(); }
  [[nodiscard]] int repetitions() const override { return results_.repetitions(); }
  nlohmann::ordered_json& run() override { return results_.run(); }
  void put_rates(const RepetitionPolicy& policy) override { results_.put_rates(policy); }
  [[nodiscard]] int counted() const override { return results_.counted(); }
  [[nodiscard]] bool settled(const RepetitionPolicy& policy) const override {
    return results_.settled(policy) || results_.counted() >= policy.maximum;
  }
  [[nodiscard]] double shortest_seconds() const override {
    return results_.shortest_span_seconds();
  }

  [[nodiscard]] const PhaseResults& results() const { return results_; }

 protected:
  PhaseResults results_;
  RepetitionRecord record_;  // of the latest repeat()

 private:
  std::string label_;
  std::string slug_;
};

}  // namespace weir::bench
