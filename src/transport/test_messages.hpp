// A message of each kind, for tests and as what a fuzzer begins with.
#pragma once

#include <cstddef>
#include <vector>

#include "transport/messages.hpp"

namespace weir::transport {

inline std::vector<Message> test_messages() {
  storage::HeaderUpdate update;
  update.made = {"", "c/0"};
  update.changes = {
      storage::HeaderWrite{
          .offset = 7, .bytes = {std::byte{1}, std::byte{2}}, .kept = {{0, 1}, {1, 1}}},
      storage::DocumentReplacement{"zarr.json", "{}", true},
      storage::SidecarReplacement{".json", "text"},
      storage::FileEnd{4096, true},
      storage::DurabilityPoint{},
      storage::Publication{}};
  const Error error = system_failure("write", "/x", 12, 28);
  return {
      Knock{.nonce = {std::byte{7}}},
      Prove{.shown = {std::byte{8}, std::byte{9}}},
      Hello{.session = {std::byte{9}}, .rank = 3, .program = "process 1 on here"},
      NameFile{.file = 1,
               .path = "/a",
               .bytes_when_made = 5,
               .known = storage::KnownFile{"/b", {1, 2, 3}}},
      NameFile{.file = 2, .path = "/c", .bytes_when_made = 0, .known = std::nullopt},
      NameFile{
          .file = 3,
          .path = "/d:a",
          .bytes_when_made = 0,
          .known = std::nullopt,
          .encoded = "map",
          .places = {.step = 6, .free_from = 4096, .stagers = 3, .own = 1, .region_bytes = 8192},
          .at_once = true,
          .may_wait = true},
      ForgetFile{2},
      Reserve{16},
      BlockBytes{.block = 3, .at_end = true, .bytes = {std::byte{1}, std::byte{2}}},
      Attach{.address = {std::byte{3}, std::byte{4}}},
      FilledBlock{3, 4},
      Flush{7},
      LockFile{"/a"},
      TakeLock{"/a"},
      CommitStep{.path = "/a",
                 .durability = storage::StepDurability::none,
                 .names_sums = true,
                 .seal = 2,
                 .chunks = {.step = 6, .format = "hdf5", .steps = 3, .has_leftovers = true},
                 .update = update},
      UnlockFile{"/a"},
      Await{5},
      Drain{},
      Listen{},
      JoinHome{
          .addresses = {"10.0.0.1:4711", "[::1]:4711"}, .secret = "secret", .keep_journals = true},
      SealStep{.seal = 2, .durability = storage::StepDurability::none, .chunk_step = 6},
      Goodbye{},
      AskReport{},
      Stop{},
      Challenge{.nonce = {std::byte{7}}, .proof = {std::byte{8}}},
      Vouch{.shown = {std::byte{8}, std::byte{9}}},
      Welcome{.blocks = 4, .block_bytes = 9, .stager = "1", .ucx = "1.13", .has_journal = true},
      Refused{"why"},
      Granted{{1, 2, 3}},
      Attached{.outcome = {}, .address = {std::byte{5}}, .token = {std::byte{6}}},
      Brought{3, 1 << 20},
      Flushed{{error}},
      Locked{{error}},
      Accepted{5, {error}},
      Accepted{6, {}, true},
      Stored{5, {}},
      Drained{{error}},
      Alive{"no space"},
      Report{"{}"},
      Listening{.addresses = {"10.0.0.1:4711"}, .secret = "secret"},
      Peer{.session = {std::byte{9}}, .secret = "secret", .host = "node1", .keep_journals = true},
      Joined{{error}},
      Sealed{2},
      SessionFailed{{error}},
      RecordShare{.share = {.session = {std::byte{9}},
                            .ticket = 3,
                            .number = 1,
                            .hosts = {"node0", "node1"}},
                  .step = {.path = "/a", .seal = 2, .update = update}},
      ShareRecorded{3, {error}},
      Published{3},
      EncodedChunks{
          .seal = 2,
          .encoded = "map",
          .chunks = {{.chunk = 7,
                      .place = {.file = 0, .offset = 1 << 20, .bytes = 99, .skipped = 1}}}},
      HandOver{.waited_ns = 7, .blocks = 2}};
}

}  // namespace weir::transport
