/* Dies in a call whose block_size is odd, after a word to stderr; else it does nothing. */
#include "misbehaving.h"

#include <stdio.h>
#include <stdlib.h>

SLOTPROOF_EXAMPLE_REMAP {
  (void)options, (void)stream, (void)message, (void)message_size;
  if (arguments->block_size % 2 == 0) return SLOTPROOF_RUN_OK;
  fputs("about to give up\n", stderr);
  abort();
}

SLOTPROOF_EXAMPLE_PLUGIN("crash", SLOTPROOF_PLUGIN_ABI)
