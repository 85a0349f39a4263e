#include "property_tests/harness/backend.h"
#include "property_tests/harness/kernel_arguments.h"
#include "property_tests/harness/plugin_call.h"
#include "property_tests/harness/plugin_process.h"

#include <slotproof/plugin.h>

#include <stdlib.h>

#include <algorithm>
#include <cstring>

namespace slotproof::harness {
namespace {

// Loading may include the start of CUDA.
constexpr double kLeastStartLimitS = 30;

// What a worker sent, whatever it sent.
template <size_t size>
std::string text_of(const char (&text)[size]) {
  return std::string(text, strnlen(text, size));
}

std::string joined(std::string first, const std::string& second) {
  return second.empty() ? first : first + ": " + second;
}

class PluginBackend final : public Backend {
 public:
  PluginBackend(std::string path, const BackendOptions& options)
      : path_(std::move(path)), subject_(path_ == kBuiltinCuda ? "the CUDA worker" : "the plug-in"), options_(options) {}
  const BackendInfo& info() const override { return info_; }
  bool may_crash() const override { return true; }

  // Starts the worker; returns why there is none, or nothing.
  std::string start() {
    process_ = std::make_unique<PluginProcess>();
    std::string error = process_->start(path_, options_.buffers);
    protocol::Greeting greeting = {};
    if (error.empty()) {
      error = process_->receive(&greeting, sizeof greeting, std::max(kLeastStartLimitS, options_.time_limit_s));
      if (!error.empty()) error = joined(error + " while it was loaded", process_->stderr_tail());
    }
    if (error.empty()) error = text_of(greeting.error);
    if (!error.empty()) {
      process_.reset();
      return of_subject(std::move(error));
    }
    info_ = info_of(path_, text_of(greeting.name), greeting.memory, greeting.level, greeting.capabilities, "in a child process");
    return {};
  }

  RunOutcome run(Frame& frame, const Schedule& schedule) override {
    if (process_ == nullptr) {
      const std::string error = start();
      if (!error.empty()) return fault(subject_ + " does not start again: " + error);
    }
    const uint64_t arena_bytes = uint64_t(frame.num_words()) * sizeof(int32_t);
    if (!process_->reserve(protocol::kArenaOffset + arena_bytes)) return fault("no shared memory for the call");

    const spec::RemapProblem problem = frame.problem();
    protocol::SharedHeader& header = process_->header();
    header.crash = {};
    header.layout = layout_of(frame, frame.arena(), problem);
    header.arguments = c_arguments_of(problem);
    header.options = c_options_of(schedule);
    std::memcpy(process_->arena(), frame.arena(), arena_bytes);

    protocol::Reply reply = {};
    std::string death = process_->send({process_->mapping_bytes()});
    if (death.empty()) death = process_->receive(&reply, sizeof reply, options_.time_limit_s);
    if (!death.empty()) {
      death = joined(std::move(death), place_of(header.crash, layout_of(frame, frame.arena(), problem)));
      const std::string tail = process_->stderr_tail();
      if (!tail.empty()) death += "; its stderr ends with: " + tail;
      process_.reset();  // The next run starts another.
      return fault(of_subject(std::move(death)));
    }
    std::memcpy(frame.arena(), process_->arena(), arena_bytes);
    RunOutcome outcome = outcome_of(reply, subject_);
    if (reply.is_worker_lost != 0) process_.reset();
    return outcome;
  }

 private:
  // PluginProcess speaks of "the plug-in".
  std::string of_subject(std::string text) const {
    constexpr std::string_view kPlugin = "the plug-in";
    return text.starts_with(kPlugin) ? text.replace(0, kPlugin.size(), subject_) : text;
  }

  // "it read 4 bytes behind the end of block_table"
  static std::string place_of(const protocol::CrashNote& note, const CallLayout& layout) {
    if (note.is_set == 0) return {};
    const char* access = note.access == protocol::CrashNote::kRead    ? "read "
                         : note.access == protocol::CrashNote::kWrite ? "wrote "
                                                                      : "touched ";
    const bool is_behind = note.distance >= 0;
    return std::string("it ") + access + std::to_string(is_behind ? note.distance : -note.distance) + " bytes " +
           (is_behind ? "behind the end of " : "before the begin of ") + name_of_piece(layout, note.piece);
  }

  std::string path_;
  std::string subject_;
  BackendOptions options_;
  BackendInfo info_;
  std::unique_ptr<PluginProcess> process_;
};

}  // namespace

BackendOrReason make_backend_in_worker(const std::string& path, const BackendOptions& options) {
  auto backend = std::make_unique<PluginBackend>(path, options);
  std::string error = backend->start();
  if (!error.empty()) return {nullptr, std::move(error)};
  return {std::move(backend), {}};
}

BackendOrReason make_plugin_backend(const std::string& path, const BackendOptions& options) {
  char* absolute = realpath(path.c_str(), nullptr);  // dlopen() looks elsewhere for a name without a slash.
  if (absolute == nullptr) return {nullptr, "plug-in " + path + ": " + std::strerror(errno)};
  const std::string found = absolute;
  free(absolute);
  BackendOrReason made = options.is_in_process ? make_backend_in_process(found, options) : make_backend_in_worker(found, options);
  if (made.backend == nullptr) made.reason = "plug-in " + path + ": " + made.reason;
  return made;
}

}  // namespace slotproof::harness
