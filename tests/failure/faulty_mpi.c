// A library to preload, which makes one MPI call of one rank fail, as a failing network would.
//
//   WEIR_MPI_FAULT="rank=2,call=MPI_Irecv,nth=3"                the call returns MPI_ERR_OTHER
//   WEIR_MPI_FAULT="rank=0,call=completion,nth=1,effect=error"  a message ends with MPI_ERR_OTHER
//   WEIR_MPI_FAULT="rank=0,call=completion,nth=1,effect=short"  half of a message has come
//
//   rank    of the job; without it every rank is affected
//   call    MPI_Isend | MPI_Issend | MPI_Irecv | MPI_Iallreduce | MPI_Ibcast | MPI_Iallgather |
//           MPI_Iallgatherv | MPI_Igather | MPI_Igatherv | MPI_Ibarrier: the call begins nothing
//           and fails; MPI_Comm_rank | MPI_Comm_size | MPI_Comm_set_errhandler | MPI_Dims_create:
//           the call does nothing and fails; MPI_Comm_idup | MPI_Comm_split | MPI_Comm_split_type |
//           MPI_Comm_free: the call is made, and reports an error: MPI makes no communicator for
//           anybody while one of these is unfinished; completion: of a receive that MPI_Test or
//           MPI_Testsome reports, whose memory is spoiled; MPI_Test: reports an error of an
//           operation that is no receive and has ended
//   nth     the how-manieth such call of the process; 1 when not given
//   effect  of a completion: error (when not given) or short
//   try     any number: another one makes the same fault a new one
//
// WEIR_MPI_FAULT is looked at in every call: a test program may change it, and counting then begins
// anew. Calls of other names are not touched. faulty_mpi_hits() says how many calls were spoiled
// since it was changed, and faulty_mpi_calls() how many there were that could have been.
//
//   WEIR_MPI_COUNTS=FILE   counts in this file, which holds a struct counts and is shared by the
//                          ranks of a machine, how many messages each rank has sent to each other
//                          one, and how many of them that one has not begun to receive; receivers
//                          are slow meanwhile
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { most_receives = 4096, spoilt = 0xAB, most_ranks = 8, slowness_ns = 300000 };

// By sender, then receiver.
struct counts {
  int64_t sent[most_ranks][most_ranks];
  int64_t receives[most_ranks][most_ranks];
  int64_t most_ahead[most_ranks][most_ranks];
};

struct receive {
  MPI_Request request;
  unsigned char* data;
  size_t bytes;
};

static char parsed[256];
static char call_to_spoil[32];
static int makes_short;
static long nth;
static long calls_seen;
static int hits;
static struct receive receives[most_receives];
static size_t receives_known;

int faulty_mpi_hits(void);
int faulty_mpi_hits(void) { return hits; }
long faulty_mpi_calls(void);
long faulty_mpi_calls(void) { return calls_seen; }

static void refuse(const char* what, const char* value) {
  fprintf(stderr, "faulty_mpi: WEIR_MPI_FAULT: %s: %s\n", what, value);
  abort();
}

static void parse(const char* text) {
  strcpy(parsed, text);
  call_to_spoil[0] = '\0';
  makes_short = 0;
  nth = 1;
  calls_seen = 0;
  hits = 0;
  if (*text == '\0') return;
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  long wanted = rank;
  char copy[sizeof parsed];
  strcpy(copy, text);
  char* rest = NULL;
  for (char* word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
    char* value = strchr(word, '=');
    if (value == NULL) refuse("not NAME=VALUE", word);
    *value++ = '\0';
    if (strcmp(word, "rank") == 0)
      wanted = strtol(value, NULL, 10);
    else if (strcmp(word, "nth") == 0)
      nth = strtol(value, NULL, 10);
    else if (strcmp(word, "effect") == 0)
      makes_short = strcmp(value, "short") == 0;
    else if (strcmp(word, "call") == 0 && strlen(value) < sizeof call_to_spoil)
      strcpy(call_to_spoil, value);
    else if (strcmp(word, "try") != 0)
      refuse("unknown name", word);
  }
  if (wanted != rank) call_to_spoil[0] = '\0';
}

// Returns whether this is the call to spoil. Counts the calls.
static int is_due(const char* call) {
  const char* text = getenv("WEIR_MPI_FAULT");
  if (text == NULL) text = "";
  if (strlen(text) >= sizeof parsed) refuse("too long", text);
  if (strcmp(text, parsed) != 0) parse(text);
  if (strcmp(call, call_to_spoil) != 0 || ++calls_seen != nth) return 0;
  ++hits;
  return 1;
}

static void remember(MPI_Request request, void* data, int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  size_t place = 0;
  while (place < receives_known && receives[place].request != MPI_REQUEST_NULL) ++place;
  if (place == most_receives) return;
  if (place == receives_known) ++receives_known;
  receives[place] = (struct receive){request, data, (size_t)count * (size_t)size};
}

// The receive that the handle names, or null.
static struct receive* receive_of(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return NULL;
  for (size_t i = 0; i < receives_known; ++i)
    if (receives[i].request == request) return &receives[i];
  return NULL;
}

// After the receive has ended: what MPI reports of it.
static int ended(struct receive* one, MPI_Status* status) {
  one->request = MPI_REQUEST_NULL;
  if (!is_due("completion")) return MPI_SUCCESS;
  const size_t come = makes_short ? one->bytes / 2 : 0;
  memset(one->data + come, spoilt, one->bytes - come);
  if (!makes_short) return MPI_ERR_OTHER;
  if (status != MPI_STATUS_IGNORE) PMPI_Status_set_elements(status, MPI_BYTE, (int)come);
  return MPI_SUCCESS;
}

// Null: nothing is counted.
static struct counts* counts_now(void) {
  static char mapped[256];
  static struct counts* counts;
  const char* path = getenv("WEIR_MPI_COUNTS");
  if (path == NULL) path = "";
  if (strcmp(path, mapped) == 0) return counts;
  if (counts != NULL) munmap(counts, sizeof *counts);
  counts = NULL;
  if (strlen(path) >= sizeof mapped) refuse("too long", path);
  strcpy(mapped, path);
  if (*path == '\0') return NULL;
  const int file = open(path, O_RDWR);
  if (file < 0) refuse("cannot be opened", path);
  void* const memory = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) refuse("cannot be mapped", path);
  counts = memory;
  return counts;
}

static int own_rank(MPI_Comm communicator) {
  int rank = 0;
  PMPI_Comm_rank(communicator, &rank);
  return rank;
}

static void count_send(int to, MPI_Comm communicator) {
  struct counts* const counts = counts_now();
  if (counts == NULL) return;
  const int own = own_rank(communicator);
  const int64_t sent = __atomic_add_fetch(&counts->sent[own][to], 1, __ATOMIC_SEQ_CST);
  const int64_t ahead = sent - __atomic_load_n(&counts->receives[own][to], __ATOMIC_SEQ_CST);
  if (ahead > counts->most_ahead[own][to]) counts->most_ahead[own][to] = ahead;
}

static void count_receive(int from, MPI_Comm communicator) {
  struct counts* const counts = counts_now();
  if (counts == NULL || from < 0) return;
  const struct timespec moment = {0, slowness_ns};
  nanosleep(&moment, NULL);
  __atomic_add_fetch(&counts->receives[from][own_rank(communicator)], 1, __ATOMIC_SEQ_CST);
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm communicator,
              MPI_Request* request) {
  if (is_due("MPI_Irecv")) return MPI_ERR_OTHER;
  count_receive(from, communicator);
  const int code = PMPI_Irecv(data, count, type, from, tag, communicator, request);
  if (code == MPI_SUCCESS) remember(*request, data, count, type);
  return code;
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  struct receive* const one = receive_of(*request);
  const int was_under_way = *request != MPI_REQUEST_NULL;
  const int code = PMPI_Test(request, flag, status);
  if (code != MPI_SUCCESS || !*flag) return code;
  if (one != NULL) return ended(one, status);
  return was_under_way && is_due("MPI_Test") ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int MPI_Testsome(int count, MPI_Request requests[], int* out, int indices[],
                 MPI_Status statuses[]) {
  struct receive** const known = (struct receive**)malloc((size_t)count * sizeof *known);
  if (known == NULL) abort();
  for (int i = 0; i < count; ++i) known[i] = receive_of(requests[i]);
  int code = PMPI_Testsome(count, requests, out, indices, statuses);
  for (int i = 0; code == MPI_SUCCESS && *out != MPI_UNDEFINED && i < *out; ++i) {
    struct receive* const one = known[indices[i]];
    MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    if (one == NULL || ended(one, status) == MPI_SUCCESS) continue;
    code = MPI_ERR_IN_STATUS;
    if (status == MPI_STATUS_IGNORE) break;
    for (int other = 0; other < *out; ++other) statuses[other].MPI_ERROR = MPI_SUCCESS;
    status->MPI_ERROR = MPI_ERR_OTHER;
  }
  free((void*)known);
  return code;
}

#define FAILS(name, parameters, arguments)   \
  int name parameters {                      \
    if (is_due(#name)) return MPI_ERR_OTHER; \
    return P##name arguments;                \
  }

#define SENDS(name)                                                                                \
  int name(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm communicator, \
           MPI_Request* request) {                                                                 \
    if (is_due(#name)) return MPI_ERR_OTHER;                                                       \
    count_send(to, communicator);                                                                  \
    return P##name(data, count, type, to, tag, communicator, request);                             \
  }
SENDS(MPI_Isend)
SENDS(MPI_Issend)
FAILS(MPI_Iallreduce,
      (const void* mine, void* all, int count, MPI_Datatype type, MPI_Op operation,
       MPI_Comm communicator, MPI_Request* request),
      (mine, all, count, type, operation, communicator, request))
FAILS(MPI_Ibcast,
      (void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator,
       MPI_Request* request),
      (data, count, type, root, communicator, request))
FAILS(MPI_Iallgather,
      (const void* mine, int count, MPI_Datatype type, void* all, int each, MPI_Datatype all_type,
       MPI_Comm communicator, MPI_Request* request),
      (mine, count, type, all, each, all_type, communicator, request))
FAILS(MPI_Iallgatherv,
      (const void* mine, int count, MPI_Datatype type, void* all, const int* counts,
       const int* places, MPI_Datatype all_type, MPI_Comm communicator, MPI_Request* request),
      (mine, count, type, all, counts, places, all_type, communicator, request))
FAILS(MPI_Ibarrier, (MPI_Comm communicator, MPI_Request* request), (communicator, request))
FAILS(MPI_Igather,
      (const void* mine, int count, MPI_Datatype type, void* all, int each, MPI_Datatype all_type,
       int root, MPI_Comm communicator, MPI_Request* request),
      (mine, count, type, all, each, all_type, root, communicator, request))
FAILS(MPI_Igatherv,
      (const void* mine, int count, MPI_Datatype type, void* all, const int* counts,
       const int* places, MPI_Datatype all_type, int root, MPI_Comm communicator,
       MPI_Request* request),
      (mine, count, type, all, counts, places, all_type, root, communicator, request))
FAILS(MPI_Comm_rank, (MPI_Comm communicator, int* rank), (communicator, rank))
FAILS(MPI_Comm_size, (MPI_Comm communicator, int* size), (communicator, size))
FAILS(MPI_Comm_set_errhandler, (MPI_Comm communicator, MPI_Errhandler handler),
      (communicator, handler))
FAILS(MPI_Dims_create, (int ranks, int dimensions, int extents[]), (ranks, dimensions, extents))

#define REPORTS_FAILURE(name, parameters, arguments) \
  int name parameters {                              \
    const int code = P##name arguments;              \
    return is_due(#name) ? MPI_ERR_OTHER : code;     \
  }
REPORTS_FAILURE(MPI_Comm_idup, (MPI_Comm communicator, MPI_Comm* made, MPI_Request* request),
                (communicator, made, request))
REPORTS_FAILURE(MPI_Comm_split, (MPI_Comm communicator, int color, int key, MPI_Comm* made),
                (communicator, color, key, made))
REPORTS_FAILURE(MPI_Comm_split_type,
                (MPI_Comm communicator, int type, int key, MPI_Info info, MPI_Comm* made),
                (communicator, type, key, info, made))
REPORTS_FAILURE(MPI_Comm_free, (MPI_Comm * communicator), (communicator))
