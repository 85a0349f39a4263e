/* Reads the block table one row behind its last. */
#include "misbehaving.h"

SLOTPROOF_EXAMPLE_REMAP {
  (void)options, (void)stream, (void)message, (void)message_size;
  const slotproof_matrix table = arguments->block_table;
  const volatile int32_t* behind = table.data + table.rows * table.row_stride;
  if (arguments->slots.rows > 0 && arguments->slots.columns > 0) arguments->slots.data[0] = behind[table.row_stride - 1];
  return SLOTPROOF_RUN_OK;
}

SLOTPROOF_EXAMPLE_PLUGIN("reads_past_table", SLOTPROOF_PLUGIN_ABI)
