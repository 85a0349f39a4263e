#include "property_tests/harness/backend.h"

#include "property_tests/harness/call_memory.h"

namespace slotproof::harness {
namespace {

constexpr std::string_view kPluginPrefix = "plugin:";

// Whether num_words words from an address lie in the storage of one tensor.
bool is_in_one_storage(const CallLayout& layout, const int32_t* data, int64_t num_words) {
  const uint64_t offset = reinterpret_cast<uintptr_t>(data) - layout.arena_address;
  if (offset % 4 != 0) return false;
  const auto word = int64_t(offset / 4);
  for (size_t i = 0; i < size_t(layout.num_pieces); ++i) {
    const Piece& piece = layout.pieces[i];
    if (word >= piece.tensor_begin && num_words <= piece.tensor_end - word) return true;
  }
  return false;
}

template <class Element>
bool is_plain(const CallLayout& layout, const spec::VectorArgument<Element>& vector) {
  if (vector.size == 0) return true;
  return vector.size > 0 && is_in_one_storage(layout, vector.data, vector.size);
}

template <class Element>
bool is_plain(const CallLayout& layout, const spec::MatrixArgument<Element>& matrix) {
  if (matrix.rows < 0 || matrix.columns < 0 || matrix.row_stride < 0) return false;
  if (matrix.rows == 0 || matrix.columns == 0) return true;
  if (matrix.rows > 1 && matrix.row_stride > layout.num_words) return false;
  const int64_t row_stride = matrix.rows > 1 ? matrix.row_stride : 0;
  return is_in_one_storage(layout, matrix.data, (matrix.rows - 1) * row_stride + matrix.columns);
}

template <class Argument>
bool is_plain(const CallLayout& layout, const std::optional<Argument>& argument) {
  return !argument || is_plain(layout, *argument);
}

// Moves the piece's end of elements behind those of one plain argument.
template <class Argument>
void take_elements(CallLayout& layout, const Argument& argument) {
  int64_t num_words = 0;
  if constexpr (requires { argument.row_stride; }) {
    if (argument.rows > 0 && argument.columns > 0) num_words = (argument.rows - 1) * argument.row_stride + argument.columns;
  } else {
    num_words = argument.size;
  }
  if (num_words <= 0) return;
  const auto first = int64_t((reinterpret_cast<uintptr_t>(argument.data) - layout.arena_address) / 4);
  for (size_t i = 0; i < size_t(layout.num_pieces); ++i) {
    Piece& piece = layout.pieces[i];
    if (first >= piece.tensor_begin && first < piece.tensor_end) piece.elements_end = std::max(piece.elements_end, first + num_words);
  }
}

template <class Argument>
void take_elements(CallLayout& layout, const std::optional<Argument>& argument) {
  if (argument) take_elements(layout, *argument);
}

}  // namespace

CallLayout layout_of(const Frame& frame, const int32_t* arena, const spec::RemapProblem& problem) {
  CallLayout layout;
  layout.arena_address = reinterpret_cast<uintptr_t>(arena);
  layout.num_words = frame.num_words();
  for (int i = 0; i < kNumTensors; ++i) {
    const Frame::Region& region = frame.region(Tensor(i));
    if (!region.is_present) continue;
    layout.pieces[size_t(layout.num_pieces)] = {region.begin, region.tensor_begin, region.tensor_begin, region.tensor_end, region.end};
    layout.tensors[size_t(layout.num_pieces++)] = Tensor(i);
  }
  const bool is_separable = is_plain(layout, problem.req_id) && is_plain(layout, problem.block_table) &&
                            is_plain(layout, problem.token_indices) && is_plain(layout, problem.prefill_request_id) &&
                            is_plain(layout, problem.workspace_starts) && is_plain(layout, problem.slots) &&
                            is_plain(layout, problem.valid_counts);
  if (!is_separable) {
    layout.is_whole = true;
    layout.num_pieces = 1;
    layout.pieces[0] = {0, 0, layout.num_words, layout.num_words, layout.num_words};
    return layout;
  }
  take_elements(layout, problem.req_id);
  take_elements(layout, problem.block_table);
  take_elements(layout, problem.token_indices);
  take_elements(layout, problem.prefill_request_id);
  take_elements(layout, problem.workspace_starts);
  take_elements(layout, problem.slots);
  take_elements(layout, problem.valid_counts);
  return layout;
}

std::string name_of_piece(const CallLayout& layout, int32_t piece) {
  if (layout.is_whole || piece < 0 || piece >= layout.num_pieces) return "the arena";
  return name_of(layout.tensors[size_t(piece)]);
}

const char* name_of(Level level) {
  switch (level) {
    case Level::kCore: return "core";
    case Level::kGuarded: return "guarded";
    case Level::kStable: return "stable";
  }
  return "?";
}

std::optional<Level> level_of(std::string_view name) {
  for (const Level level : {Level::kCore, Level::kGuarded, Level::kStable}) {
    if (name == name_of(level)) return level;
  }
  return std::nullopt;
}

BackendOrReason make_backend(std::string_view name, const BackendOptions& options) {
  if (name == "reference") return make_reference_backend();
  if (name == "host") return make_host_backend();
  if (name == "host-fast") return make_fast_host_backend();
  if (name == "cuda") return make_cuda_backend(options);
  if (name.starts_with(kPluginPrefix)) return make_plugin_backend(std::string(name.substr(kPluginPrefix.size())), options);
  return {nullptr, "no back end is called \"" + std::string(name) + "\": there are reference, host, host-fast, cuda and plugin:PATH"};
}

}  // namespace slotproof::harness
