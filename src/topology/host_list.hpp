// A list of hosts as Slurm writes them, such as "n1,n[3-5,8],r[0-1]n[01-10]", of which the names
// are made only when they are asked for. python/weir/results/host_list.py writes such lists.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.hpp"

namespace weir::topology {

class HostList {
 public:
  // The largest number of hosts of a list, of brackets in one part of it, and of digits of a
  // number.
  static constexpr std::int64_t most_listed_hosts = std::int64_t{1} << 20;
  static constexpr std::size_t most_brackets = 8;
  static constexpr std::size_t most_digits = 12;

  // Names have letters, digits, dots, underscores and hyphens; numbers in brackets keep their
  // leading zeros. Fails on any other text; the error does not repeat it.
  static Result<HostList> parse(std::string_view text);

  // Returns the number of hosts; one that is listed twice counts twice.
  [[nodiscard]] std::int64_t hosts() const { return hosts_; }
  // Returns whether a host is in the list. Takes work for each part of the list, not for each host.
  [[nodiscard]] bool has(std::string_view host) const;
  // Calls a function with each host, in the list's order, until it returns false.
  void each(const std::function<bool(const std::string&)>& visit) const;

 private:
  // Numbers of a bracket that are written with at least so many digits.
  struct Range {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::size_t digits = 0;
  };
  // Letters that are in every name, and the numbers that follow them; none at the end of a name.
  struct Piece {
    std::string letters;
    std::vector<Range> numbers;
  };
  using Part = std::vector<Piece>;

  static Result<Part> parse_part(std::string_view text);
  static Result<std::vector<Range>> parse_numbers(std::string_view text);
  static bool matches(const Part& part, std::string_view host);
  static bool visit_names(const Part& part, std::size_t piece, const std::string& begun,
                          const std::function<bool(const std::string&)>& visit);

  std::vector<Part> parts_;
  std::int64_t hosts_ = 0;
};

}  // namespace weir::topology
