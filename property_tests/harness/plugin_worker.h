#pragma once
// The child process in which a plug-in runs is the running program itself, started anew in worker mode.

namespace slotproof::harness {

// Every main() calls this first. In a worker process it serves its parent and never returns; else it returns 0 at once and
// from then on this program may start workers.
int run_as_plugin_worker_if_asked(int argc, char** argv);

// Whether main() made that call: without it a worker would be a second run of the whole program.
bool can_start_plugin_workers();

}  // namespace slotproof::harness
