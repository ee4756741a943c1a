// A small file that one rank reads for all of them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "capi/outcome.hpp"
#include "capi/ranks.hpp"

namespace weir::capi {

// Sets `text` to that of the file at `path`. Collective: rank 0 reads the file and sends the text
// to all ranks, so that every rank has the same whatever it sees of the file system. Only rank 0's
// arguments count. An empty path leaves `text` empty. A file longer than `most_bytes` is cut after
// one byte more, and its reader must refuse it. All ranks return rank 0's error; `option` is what
// asked for the file. `prepare` may change the text before it is sent, or refuse it.
Outcome share_file(Ranks& ranks, const std::string& path, std::size_t most_bytes,
                   const std::string& option, std::string& text,
                   const std::function<Status(std::string&)>& prepare = nullptr);

}  // namespace weir::capi
