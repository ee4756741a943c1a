#pragma once

#include <optional>
#include <string>

namespace weir::bench {

// The control variables of MPI's tool interface (MPI 4.0, section 15.3). To open the interface
// takes Open MPI 4.1 some 200 ms, since it loads every component that it has, so that one of these
// serves for all variables. It lives between MPI_Init and MPI_Finalize: Open MPI 4.1 crashes if the
// interface is closed after MPI_Finalize.
class MpiControlVariables {
 public:
  MpiControlVariables();
  ~MpiControlVariables();  // NOLINT(performance-trivially-destructible): simulated ranks close none
  MpiControlVariables(const MpiControlVariables&) = delete;
  MpiControlVariables& operator=(const MpiControlVariables&) = delete;
  MpiControlVariables(MpiControlVariables&&) = delete;
  MpiControlVariables& operator=(MpiControlVariables&&) = delete;

  // Returns the text of a variable, which may be a number, or nothing if there is none. Variables
  // of a component exist once MPI has opened it.
  [[nodiscard]] std::optional<std::string> value(const char* name) const;

 private:
  [[maybe_unused]] bool is_open_ = false;  // simulated ranks open none
};

}  // namespace weir::bench
