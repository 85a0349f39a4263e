/* Writes to an input, which a plug-in must not. */
#include "misbehaving.h"

SLOTPROOF_EXAMPLE_REMAP {
  (void)options, (void)stream, (void)message, (void)message_size;
  if (arguments->req_id.size > 0) arguments->req_id.data[0] += 1;
  return SLOTPROOF_RUN_OK;
}

SLOTPROOF_EXAMPLE_PLUGIN("writes_input", SLOTPROOF_PLUGIN_ABI)
