#ifndef SLOTPROOF_PLUGIN_H
#define SLOTPROOF_PLUGIN_H
/* A shared object that exports slotproof_plugin_v1() is a back end for slotproof: `slotproof check --backend plugin:PATH`.
   It runs in a child process with a time limit, so it may crash or hang; that is a finding like any other.
   Plain C. Structures only grow at their end, and struct_size says how much of one its maker knew. */

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLOTPROOF_PLUGIN_ABI 1

typedef struct slotproof_vector {
  int32_t* data; /* inputs too; a plug-in must not write to them */
  int32_t size;
} slotproof_vector;

typedef struct slotproof_matrix {
  int32_t* data;
  int32_t rows;
  int32_t columns;
  int64_t row_stride; /* elements */
} slotproof_matrix;

/* The arguments of one call; meaning and names as in slotproof/remap.h. A field behind has_x == 0 is absent. */
typedef struct slotproof_remap_arguments {
  uint32_t struct_size;
  uint32_t compacted;        /* 0 in place, 1 compacted */
  uint32_t order_unspecified; /* 1: a compacted row may have any order */
  uint32_t has_num_blocks, has_prefill_request_id, has_workspace_starts, has_num_workspace_rows, has_tile, has_valid_counts;
  int32_t block_size;
  int64_t block_stride_rows;
  int64_t num_blocks;
  int64_t num_workspace_rows;
  int32_t dcp_size, dcp_rank, dcp_interleave;
  int32_t tile;
  slotproof_vector req_id;
  slotproof_matrix block_table;
  slotproof_matrix token_indices;
  slotproof_vector prefill_request_id;
  slotproof_vector workspace_starts;
  slotproof_matrix slots;
  slotproof_vector valid_counts;
} slotproof_remap_arguments;

/* What must not change the result; a plug-in that has no use for it ignores it. */
typedef struct slotproof_run_options {
  uint32_t struct_size;
  int32_t team_width;
  uint64_t thread_order_seed;
  uint64_t cta_order_seed;
  int32_t planned_rows; /* a planner picks its kernel as for so many rows; 0: as for those that there are */
} slotproof_run_options;

enum slotproof_memory { SLOTPROOF_MEMORY_HOST = 0, SLOTPROOF_MEMORY_CUDA = 1 };

/* What inputs the plug-in claims to stand: see docs/judging.md. */
enum slotproof_level { SLOTPROOF_LEVEL_CORE = 0, SLOTPROOF_LEVEL_GUARDED = 1, SLOTPROOF_LEVEL_STABLE = 2 };

/* What the plug-in's signature can say. A rule whose input it cannot say is not applicable, never failed. */
enum slotproof_capability {
  SLOTPROOF_CAN_COUNT = 1 << 0,
  SLOTPROOF_CAN_COMPACT = 1 << 1,
  SLOTPROOF_CAN_BLOCK_STRIDE = 1 << 2,
  SLOTPROOF_CAN_BLOCK_STRIDE_UNDER_DCP = 1 << 3,
  SLOTPROOF_CAN_NUM_BLOCKS = 1 << 4,
  SLOTPROOF_CAN_PREFILL = 1 << 5,
  SLOTPROOF_CAN_STRIDED_INPUTS = 1 << 6,
  SLOTPROOF_CAN_ANY_WIDTH = 1 << 7,
  SLOTPROOF_CAN_PROMISE_ORDER = 1 << 8,
  SLOTPROOF_CAN_DCP = 1 << 9,
  SLOTPROOF_CAN_STRIDED_OUTPUT = 1 << 10,
  SLOTPROOF_CAN_EXPLICIT_TILE = 1 << 11,
  SLOTPROOF_CAN_COMPACT_WITHOUT_DCP = 1 << 12,
  SLOTPROOF_CAN_IN_PLACE_UNDER_DCP = 1 << 13
};
#define SLOTPROOF_CAN_ALL 0x3fffu

/* What a run returns: 0 done; 1 ... 15 refused by argument rule A1 ... A15; anything else is a failure of the run. */
#define SLOTPROOF_RUN_OK 0
#define SLOTPROOF_RUN_MEMORY_FAULT 42
#define SLOTPROOF_RUN_FAILED 100

typedef struct slotproof_plugin {
  uint32_t struct_size;
  uint32_t abi;        /* SLOTPROOF_PLUGIN_ABI */
  const char* name;    /* for reports */
  uint32_t memory;     /* enum slotproof_memory: where the pointers of the arguments must point */
  uint32_t level;      /* enum slotproof_level */
  uint64_t capabilities; /* SLOTPROOF_CAN_* */
  /* Does the remap, on `stream` where memory is CUDA (a cudaStream_t, may be null; the caller synchronises).
     Writes a message, cut at message_size bytes with its end mark, where it returns another value than 0. */
  int32_t (*remap)(const slotproof_remap_arguments* arguments, const slotproof_run_options* options, void* stream,
                   char* message, uint32_t message_size);
} slotproof_plugin;

/* The one symbol that a plug-in exports. The descriptor lives as long as the shared object is loaded. */
const slotproof_plugin* slotproof_plugin_v1(void);

#ifdef __cplusplus
}
#endif
#endif
