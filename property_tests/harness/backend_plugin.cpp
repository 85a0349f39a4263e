#include "property_tests/harness/backend.h"
#include "property_tests/harness/kernel_arguments.h"
#include "property_tests/harness/plugin_protocol.h"
#include "property_tests/harness/plugin_process.h"

#include <slotproof/plugin.h>

#include <stdlib.h>

#include <algorithm>
#include <cstring>

namespace slotproof::harness {
namespace {

// Loading may include the start of CUDA.
constexpr double kLeastStartLimitS = 30;

slotproof_vector c_vector_of(const spec::InputVector& vector) { return {const_cast<int32_t*>(vector.data), vector.size}; }
slotproof_vector c_vector_of(const spec::OutputVector& vector) { return {vector.data, vector.size}; }
slotproof_matrix c_matrix_of(const spec::InputMatrix& matrix) {
  return {const_cast<int32_t*>(matrix.data), matrix.rows, matrix.columns, matrix.row_stride};
}
slotproof_matrix c_matrix_of(const spec::OutputMatrix& matrix) {
  return {matrix.data, matrix.rows, matrix.columns, matrix.row_stride};
}

slotproof_remap_arguments c_arguments_of(const spec::RemapProblem& problem) {
  slotproof_remap_arguments arguments = {};
  arguments.struct_size = sizeof arguments;
  arguments.compacted = problem.placement == spec::Placement::kCompacted;
  arguments.order_unspecified = problem.order == spec::Order::kUnspecified;
  arguments.block_size = problem.block_size;
  arguments.block_stride_rows = problem.block_stride_rows;
  arguments.dcp_size = problem.dcp.size;
  arguments.dcp_rank = problem.dcp.rank;
  arguments.dcp_interleave = problem.dcp.interleave;
  arguments.req_id = c_vector_of(problem.req_id);
  arguments.block_table = c_matrix_of(problem.block_table);
  arguments.token_indices = c_matrix_of(problem.token_indices);
  arguments.slots = c_matrix_of(problem.slots);
  const auto set_if_given = [](const auto& given, uint32_t& has, auto& target, auto convert) {
    has = given.has_value();
    if (given) target = convert(*given);
  };
  const auto same = [](auto value) { return value; };
  const auto vector = [](const auto& value) { return c_vector_of(value); };
  set_if_given(problem.num_blocks, arguments.has_num_blocks, arguments.num_blocks, same);
  set_if_given(problem.prefill_request_id, arguments.has_prefill_request_id, arguments.prefill_request_id, vector);
  set_if_given(problem.workspace_starts, arguments.has_workspace_starts, arguments.workspace_starts, vector);
  set_if_given(problem.num_workspace_rows, arguments.has_num_workspace_rows, arguments.num_workspace_rows, same);
  set_if_given(problem.tile, arguments.has_tile, arguments.tile, same);
  set_if_given(problem.valid_counts, arguments.has_valid_counts, arguments.valid_counts, vector);
  return arguments;
}

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
  PluginBackend(std::string path, const PluginOptions& options) : path_(std::move(path)), options_(options) {}
  const BackendInfo& info() const override { return info_; }
  bool may_crash() const override { return true; }

  // Starts the worker; returns why there is none, or nothing.
  std::string start() {
    process_ = std::make_unique<PluginProcess>();
    std::string error = process_->start(path_);
    protocol::Greeting greeting = {};
    if (error.empty()) {
      error = process_->receive(&greeting, sizeof greeting, std::max(kLeastStartLimitS, options_.time_limit_s));
      if (!error.empty()) error = joined(error + " while it was loaded", process_->stderr_tail());
    }
    if (error.empty()) error = text_of(greeting.error);
    if (!error.empty()) {
      process_.reset();
      return error;
    }
    const bool is_cuda = greeting.memory == SLOTPROOF_MEMORY_CUDA;
    info_.name = "plugin:" + path_;
    info_.level = greeting.level == SLOTPROOF_LEVEL_STABLE    ? Level::kStable
                  : greeting.level == SLOTPROOF_LEVEL_GUARDED ? Level::kGuarded
                                                              : Level::kCore;
    info_.capabilities = greeting.capabilities & SLOTPROOF_CAN_ALL;
    info_.description = text_of(greeting.name) + (is_cuda ? ", CUDA memory, in a child process" : ", host memory, in a child process");
    return {};
  }

  RunOutcome run(Frame& frame, const Schedule& schedule) override {
    if (process_ == nullptr) {
      const std::string error = start();
      if (!error.empty()) return fault("the plug-in does not start again: " + error);
    }
    const uint64_t arena_bytes = uint64_t(frame.num_words()) * sizeof(int32_t);
    if (!process_->reserve(protocol::kArenaOffset + arena_bytes)) return fault("no shared memory for the call");

    const spec::RemapProblem problem = frame.problem();
    protocol::SharedHeader& header = process_->header();
    header.crash = {};
    header.layout = layout_of(frame, frame.arena(), problem);
    header.arguments = c_arguments_of(problem);
    header.options = {sizeof(slotproof_run_options), schedule.team_width, schedule.thread_order_seed, schedule.cta_order_seed};
    std::memcpy(process_->arena(), frame.arena(), arena_bytes);

    protocol::Reply reply = {};
    std::string death = process_->send({process_->mapping_bytes()});
    if (death.empty()) death = process_->receive(&reply, sizeof reply, options_.time_limit_s);
    if (!death.empty()) {
      death = joined(std::move(death), place_of(header.crash, layout_of(frame, frame.arena(), problem)));
      const std::string tail = process_->stderr_tail();
      if (!tail.empty()) death += "; its stderr ends with: " + tail;
      process_.reset();  // The next run starts another.
      return fault(death);
    }
    std::memcpy(frame.arena(), process_->arena(), arena_bytes);
    RunOutcome outcome = outcome_of(reply);
    if (reply.is_worker_lost != 0) process_.reset();
    return outcome;
  }

 private:
  static RunOutcome outcome_of(const protocol::Reply& reply) {
    if (reply.misuse[0] != '\0') return fault("the plug-in's call went wrong: " + text_of(reply.misuse));
    if (reply.code == SLOTPROOF_RUN_OK) return {};
    std::string message = text_of(reply.message);
    if (reply.code >= 1 && reply.code <= 15) {
      return {RunOutcome::Kind::kRefused, spec::argument_rule_of(reply.code), std::move(message)};
    }
    return fault(joined(reply.code == SLOTPROOF_RUN_MEMORY_FAULT ? "the plug-in reports a memory fault"
                                                                 : "the plug-in failed with code " + std::to_string(reply.code),
                        message));
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
  PluginOptions options_;
  BackendInfo info_;
  std::unique_ptr<PluginProcess> process_;
};

}  // namespace

BackendOrReason make_plugin_backend(const std::string& path, const PluginOptions& options) {
  char* absolute = realpath(path.c_str(), nullptr);  // dlopen() looks elsewhere for a name without a slash.
  if (absolute == nullptr) return {nullptr, "plug-in " + path + ": " + std::strerror(errno)};
  auto backend = std::make_unique<PluginBackend>(absolute, options);
  free(absolute);
  std::string error = backend->start();
  if (!error.empty()) return {nullptr, "plug-in " + path + ": " + error};
  return {std::move(backend), {}};
}

}  // namespace slotproof::harness
