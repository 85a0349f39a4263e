/* As little as a plug-in can promise: level core and no capability, a kernel as serving engines had them at first. Inputs are inside the
   seed's contract, rows and blocks lie one after another, nothing is counted, compacted or refused. Whatever else a caller would ask it
   ends the process, so that a test sees it. */

#include <slotproof/plugin.h>

#include <stdlib.h>

/* True where the arguments are those that this kernel knows. */
static int is_plain(const slotproof_remap_arguments* a) {
  return !a->compacted && !a->has_valid_counts && !a->has_prefill_request_id && !a->has_num_blocks && !a->has_tile && a->dcp_size == 1 &&
         a->block_stride_rows == a->block_size && a->slots.row_stride == a->slots.columns &&
         a->token_indices.row_stride == a->token_indices.columns && a->block_table.row_stride == a->block_table.columns;
}

static int32_t remap(const slotproof_remap_arguments* a, const slotproof_run_options* options, void* stream, char* message,
                     uint32_t message_size) {
  (void)options;
  (void)stream;
  (void)message;
  (void)message_size;
  if (!is_plain(a)) abort();
  const int32_t topk = a->token_indices.columns;
  for (int32_t t = 0; t < a->token_indices.rows; ++t) {
    const int32_t request = a->req_id.data[t];
    if (request < 0 || request >= a->block_table.rows) abort();
    for (int32_t k = 0; k < topk; ++k) {
      const int32_t tok = a->token_indices.data[t * topk + k], column = tok / a->block_size;
      int32_t slot = -1;
      if (tok < -1) abort();
      if (tok >= 0 && column < a->block_table.columns) {
        const int32_t base = a->block_table.data[request * a->block_table.columns + column];
        if (base < 0) abort();
        slot = base * a->block_size + tok % a->block_size;
      }
      a->slots.data[t * topk + k] = slot;
    }
  }
  return SLOTPROOF_RUN_OK;
}

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const slotproof_plugin* slotproof_plugin_v1(void) {
  static const slotproof_plugin plugin = {sizeof(slotproof_plugin), SLOTPROOF_PLUGIN_ABI, "core_scalar",
                                          SLOTPROOF_MEMORY_HOST,    SLOTPROOF_LEVEL_CORE, 0, remap};
  return &plugin;
}
