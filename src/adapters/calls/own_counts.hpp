// What a program that runs with libweir_calls asks about its own calls while it runs. It finds
// these functions by their names (dlsym), as it may also run without the library.
#pragma once

#include <cstdint>

extern "C" {

// Counting begins, or ends. Where WEIR_CALLS_FOLDER asked for a record it never ends.
void weir_calls_count(int on);

// How often each operation was counted so far, in the order of weir::calls::Operation: `inside` of
// files in `folder` (absolute, without a slash at its end) and below it and of the folder itself,
// `elsewhere` of all others. Writes `room` numbers to each; returns how many operations there are,
// so that a program that knows others takes nothing for another.
int weir_calls_read(const char* folder, std::uint64_t* inside, std::uint64_t* elsewhere, int room);

}  // extern "C"
