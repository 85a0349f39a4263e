/* A shared object that is no plug-in. */
__attribute__((visibility("default"))) int slotproof_plugin_v0(void);
int slotproof_plugin_v0(void) { return 0; }
