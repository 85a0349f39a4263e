/* A complete plug-in in plain C99: the remap, one entry after another, and every refusal. It is right, so slotproof must find
   nothing in it:

     cc -std=c99 -O2 -fPIC -shared -fvisibility=hidden -I kernels/include -o right_scalar.so right_scalar.c
     slotproof check --backend plugin:./right_scalar.so

   To check a kernel of your own, keep the descriptor at the end, lower its level and capabilities to what the kernel promises,
   and call the kernel where remap() calls convert_row(). A rule whose input the kernel cannot say is then not applicable. */

#include <slotproof/plugin.h>

#include <stdio.h>

typedef slotproof_remap_arguments arguments_t;

/* ---- The meaning of one entry: rules R1 - R9 -------------------------------------------------------------------------- */

static int32_t slot_or_none(int64_t slot) { return slot <= INT32_MAX ? (int32_t)slot : -1; }

static int32_t entry_of(const arguments_t* a, int32_t t, int32_t tok) {
  if (tok < 0) return -1; /* R1 */

  if (a->has_prefill_request_id && a->prefill_request_id.data[t] >= 0) { /* R2: a row of the workspace */
    const int32_t p = a->prefill_request_id.data[t];
    if (p >= a->workspace_starts.size || a->workspace_starts.data[p] < 0) return -1;
    const int64_t row = (int64_t)a->workspace_starts.data[p] + tok;
    if (a->has_num_workspace_rows && row >= a->num_workspace_rows) return -1;
    return slot_or_none(row); /* R9 */
  }

  const int64_t group = a->dcp_interleave, round = group * a->dcp_size;
  if (tok / group % a->dcp_size != a->dcp_rank) return -1;         /* R3 */
  const int64_t local = tok / round * group + tok % group;         /* R4 */
  const int32_t request = a->req_id.data[t];
  if (request < 0 || request >= a->block_table.rows) return -1;    /* R5 */
  const int64_t column = local / a->block_size;
  if (column >= a->block_table.columns) return -1;                 /* R6 */
  const int32_t base = a->block_table.data[request * a->block_table.row_stride + column];
  if (base < 0 || (a->has_num_blocks && base >= a->num_blocks)) return -1; /* R7 */
  if (base > 0 && a->block_stride_rows > INT32_MAX / base) return -1;      /* R9, before the product could wrap */
  return slot_or_none(base * a->block_stride_rows + local % a->block_size); /* R8 */
}

/* ---- One row: rules R10 - R13 ----------------------------------------------------------------------------------------- */

static void convert_row(const arguments_t* a, int32_t t) {
  const int32_t* in = a->token_indices.data + t * a->token_indices.row_stride;
  int32_t* out = a->slots.data + t * a->slots.row_stride;
  const int32_t topk = a->token_indices.columns;
  int32_t count = 0;
  for (int32_t k = 0; k < topk; ++k) {
    const int32_t entry = entry_of(a, t, in[k]);
    if (!a->compacted) out[k] = entry;
    if (a->compacted && entry >= 0) out[count] = entry;
    if (entry >= 0) ++count;
  }
  for (int32_t k = count; a->compacted && k < topk; ++k) out[k] = -1;
  if (a->has_valid_counts) a->valid_counts.data[t] = count;
}

/* ---- Which calls are refused: rules A1 - A15 -------------------------------------------------------------------------- */

static slotproof_matrix as_matrix(slotproof_vector vector, uint32_t is_given) {
  const slotproof_matrix one_row = {vector.data, is_given ? 1 : 0, is_given ? vector.size : 0, 0};
  return one_row;
}

static int has_elements(slotproof_matrix m) { return m.rows > 0 && m.columns > 0; }

/* Walks the rows of both in order of their addresses. Only their distance is kept, which cannot overflow. */
static int share_an_element(slotproof_matrix a, slotproof_matrix b) {
  if (!has_elements(a) || !has_elements(b)) return 0;
  int64_t distance = (int64_t)((uintptr_t)a.data / 4) - (int64_t)((uintptr_t)b.data / 4); /* from b's row to a's row */
  for (int32_t i = 0, j = 0;;) {
    if (distance < b.columns && -distance < a.columns) return 1;
    if (distance < 0) {
      if (++i == a.rows) return 0;
      distance += a.row_stride;
    } else {
      if (++j == b.rows) return 0;
      distance -= b.row_stride;
    }
  }
}

static int refusing_rule(const arguments_t* a) {
  enum { kNumTensors = 7, kNumOutputs = 2 };
  const slotproof_matrix tensors[kNumTensors] = {a->slots,
                                                 as_matrix(a->valid_counts, a->has_valid_counts),
                                                 as_matrix(a->req_id, 1),
                                                 a->block_table,
                                                 a->token_indices,
                                                 as_matrix(a->prefill_request_id, a->has_prefill_request_id),
                                                 as_matrix(a->workspace_starts, a->has_workspace_starts)};
  const int32_t num_tokens = a->token_indices.rows, topk = a->token_indices.columns;
  for (int i = 0; i < kNumTensors; ++i) {
    if (tensors[i].rows < 0 || tensors[i].columns < 0) return 1;
  }
  for (int i = 0; i < kNumTensors; ++i) {
    if (has_elements(tensors[i]) && (tensors[i].data == 0 || (uintptr_t)tensors[i].data % 4 != 0)) return 2;
  }
  if (a->req_id.size != num_tokens || a->slots.rows != num_tokens || a->slots.columns != topk) return 3;
  if (a->has_prefill_request_id && a->prefill_request_id.size != num_tokens) return 3;
  if (a->has_valid_counts && a->valid_counts.size != num_tokens) return 3;
  if (num_tokens > 1 && a->slots.row_stride < topk) return 4;
  for (int i = 0; i < kNumTensors; ++i) {
    if ((i >= kNumOutputs && tensors[i].row_stride < 0) || tensors[i].row_stride > (int64_t)1 << 60) return 4;
  }
  if (a->block_size < 1) return 5;
  if (a->block_stride_rows < a->block_size) return 6;
  if ((a->has_num_blocks && a->num_blocks < 0) || (a->has_num_workspace_rows && a->num_workspace_rows < 0)) return 7;
  if (a->dcp_size < 1) return 8;
  if (a->dcp_rank < 0 || a->dcp_rank >= a->dcp_size) return 9;
  if (a->dcp_interleave < 1) return 10;
  if (a->block_size % a->dcp_interleave != 0) return 11;
  if (!a->has_prefill_request_id != !a->has_workspace_starts) return 12;
  if (a->has_prefill_request_id && a->dcp_size > 1) return 13;
  if (a->has_tile && (a->tile < 1 || topk % a->tile != 0)) return 14;
  for (int output = 0; output < kNumOutputs; ++output) {
    for (int other = output + 1; other < kNumTensors; ++other) {
      if (share_an_element(tensors[output], tensors[other])) return 15;
    }
  }
  return SLOTPROOF_RUN_OK;
}

/* ---- The plug-in ------------------------------------------------------------------------------------------------------ */

static int32_t remap(const slotproof_remap_arguments* arguments, const slotproof_run_options* options, void* stream,
                     char* message, uint32_t message_size) {
  (void)options; /* how a parallel kernel might be scheduled: one loop has no use for it */
  (void)stream;
  if (arguments->struct_size < sizeof *arguments) {
    snprintf(message, message_size, "struct_size %u is too small", (unsigned)arguments->struct_size);
    return SLOTPROOF_RUN_FAILED;
  }
  const int rule = refusing_rule(arguments);
  if (rule != SLOTPROOF_RUN_OK) {
    snprintf(message, message_size, "refused by A%d", rule);
    return rule;
  }
  for (int32_t t = 0; t < arguments->token_indices.rows; ++t) convert_row(arguments, t);
  return SLOTPROOF_RUN_OK;
}

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const slotproof_plugin* slotproof_plugin_v1(void) {
  static const slotproof_plugin plugin = {sizeof(slotproof_plugin), SLOTPROOF_PLUGIN_ABI, "right_scalar",
                                          SLOTPROOF_MEMORY_HOST,    SLOTPROOF_LEVEL_STABLE, SLOTPROOF_CAN_ALL, remap};
  return &plugin;
}
