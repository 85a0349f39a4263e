/* Never returns from a call whose block_size is odd; else it does nothing. */
#include "misbehaving.h"

#include <unistd.h>

SLOTPROOF_EXAMPLE_REMAP {
  (void)options, (void)stream, (void)message, (void)message_size;
  while (arguments->block_size % 2 != 0) pause();
  return SLOTPROOF_RUN_OK;
}

SLOTPROOF_EXAMPLE_PLUGIN("hang", SLOTPROOF_PLUGIN_ABI)
