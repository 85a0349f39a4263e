/* Made for an ABI that is yet to come. */
#include "misbehaving.h"

SLOTPROOF_EXAMPLE_REMAP {
  (void)options, (void)stream, (void)message, (void)message_size;
  (void)arguments;
  return SLOTPROOF_RUN_OK;
}

SLOTPROOF_EXAMPLE_PLUGIN("wrong_abi", SLOTPROOF_PLUGIN_ABI + 1)
