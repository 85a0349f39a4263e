/* Ends the process in the middle of a call. */
#include "misbehaving.h"

#include <stdlib.h>

SLOTPROOF_EXAMPLE_REMAP {
  (void)options, (void)stream, (void)message, (void)message_size;
  (void)arguments;
  exit(7);
}

SLOTPROOF_EXAMPLE_PLUGIN("ends_process", SLOTPROOF_PLUGIN_ABI)
