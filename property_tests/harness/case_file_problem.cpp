#include "property_tests/harness/case_file_parts.h"

#include <algorithm>
#include <array>

namespace slotproof::harness {
namespace {

// Words of the slots' storage that a case may ask for: a short file must not ask for all memory.
constexpr int64_t kMaxSlotsWords = int64_t{1} << 26;

// The value whose name is given, of an enumeration whose names are name_of(0) ... name_of(num_values - 1).
template <class Enumeration>
Enumeration named_of(const Json& value, const std::string& place, int num_values) {
  const std::string name = string_of(value, place);
  std::string names;
  for (int i = 0; i < num_values; ++i) {
    if (name == name_of(Enumeration(i))) return Enumeration(i);
    names += (i == 0 ? "" : ", ") + std::string(name_of(Enumeration(i)));
  }
  fail(place, excerpt_of(value) + " is none of " + names);
}

Tensor tensor_name_of(const Json& value, const std::string& place) { return named_of<Tensor>(value, place, kNumTensors); }

template <class Integer>
std::optional<Integer> optional_integer_of(const Fields& fields, std::string_view name) {
  const Json* value = fields.find(name);
  if (value == nullptr) return std::nullopt;
  return integer_of<Integer>(*value, fields.place_of(name));
}

template <class Integer>
Integer required_integer_of(const Fields& fields, std::string_view name) {
  return integer_of<Integer>(fields.required(name), fields.place_of(name));
}

spec::RankOwnership dcp_of(const Json& value, const std::string& place) {
  const Fields fields(value, place, {"size", "rank", "interleave"});
  return {required_integer_of<int32_t>(fields, "size"), required_integer_of<int32_t>(fields, "rank"),
          required_integer_of<int32_t>(fields, "interleave")};
}

OwnedPrefill prefill_of(const Json& value, const std::string& place) {
  const Fields fields(value, place, {"request_ids", "workspace_starts", "num_workspace_rows"});
  OwnedPrefill prefill;
  prefill.request_ids = integers_of<int32_t>(fields.required("request_ids"), fields.place_of("request_ids"));
  prefill.workspace_starts = integers_of<int32_t>(fields.required("workspace_starts"), fields.place_of("workspace_starts"));
  prefill.num_workspace_rows = optional_integer_of<int64_t>(fields, "num_workspace_rows");
  return prefill;
}

Schedule schedule_of(const Json& value, const std::string& place) {
  const Fields fields(value, place, {"team_width", "thread_order_seed", "cta_order_seed", "planned_rows"});
  Schedule schedule;
  schedule.team_width = optional_integer_of<int32_t>(fields, "team_width").value_or(0);
  schedule.thread_order_seed = optional_integer_of<uint64_t>(fields, "thread_order_seed").value_or(0);
  schedule.cta_order_seed = optional_integer_of<uint64_t>(fields, "cta_order_seed").value_or(0);
  schedule.planned_rows = optional_integer_of<int32_t>(fields, "planned_rows").value_or(0);
  return schedule;
}

Layout layout_of(const Json& value, const std::string& place, const OwnedMatrix& indices) {
  const Fields fields(value, place, {"slots_storage_columns", "misalignment"});
  Layout layout;
  if (const auto columns = optional_integer_of<int32_t>(fields, "slots_storage_columns")) {
    const std::string columns_place = fields.place_of("slots_storage_columns");
    if (*columns < indices.columns) {
      fail(columns_place,
           std::to_string(*columns) + " is less than the " + std::to_string(indices.columns) + " columns of the slots");
    }
    if (int64_t{*columns} * indices.rows > kMaxSlotsWords) fail(columns_place, "asks for more than 2^26 words");
    layout.slots_storage_columns = *columns;
  }
  if (const Json* misalignment = fields.find("misalignment")) {
    const std::string map_place = fields.place_of("misalignment");
    if (!misalignment->is_object()) fail(map_place, "expected an object, got " + excerpt_of(*misalignment));
    for (const auto& [name, words] : misalignment->items()) {
      const std::string words_place = map_place + "." + name;
      const auto tensor = tensor_name_of(Json(name), map_place);
      const auto count = integer_of<int32_t>(words, words_place);
      if (count < 0 || count > 3) fail(words_place, "expected 0 to 3 words, got " + std::to_string(count));
      layout.misalignment[size_t(tensor)] = uint8_t(count);
    }
  }
  return layout;
}

// A field that the kind of edit does not use is an unknown one.
ArgumentEdit edit_of(const Json& value, const std::string& place) {
  using Kind = ArgumentEdit::Kind;
  constexpr int kNumKinds = int(Kind::kDrop) + 1;
  const Fields any(value, place, {"kind", "tensor", "value", "other"});
  ArgumentEdit edit;
  edit.kind = named_of<Kind>(any.required("kind"), any.place_of("kind"), kNumKinds);
  edit.tensor = tensor_name_of(any.required("tensor"), any.place_of("tensor"));
  switch (edit.kind) {
    case Kind::kNull:
    case Kind::kDrop: Fields(value, place, {"kind", "tensor"}); return edit;
    case Kind::kRows:
    case Kind::kColumns:
      edit.value = required_integer_of<int32_t>(Fields(value, place, {"kind", "tensor", "value"}), "value");
      return edit;
    case Kind::kAlias: edit.other = tensor_name_of(any.required("other"), any.place_of("other")); break;
    case Kind::kRowStride:
    case Kind::kByteOffset: Fields(value, place, {"kind", "tensor", "value"}); break;
  }
  edit.value = required_integer_of<int64_t>(any, "value");
  return edit;
}

}  // namespace

RemapCase remap_of(const Json& value) {
  const std::string place = "problem";
  const Fields fields(value, place,
                      {"req_id", "block_table", "token_indices", "block_size", "block_stride_rows", "num_blocks", "dcp",
                       "prefill", "compact", "order", "tile", "counts", "layout", "schedule", "edits"});
  RemapCase problem;
  problem.req_id = integers_of<int32_t>(fields.required("req_id"), fields.place_of("req_id"));
  problem.block_table = tensor_of(fields.required("block_table"), fields.place_of("block_table"));
  problem.token_indices = tensor_of(fields.required("token_indices"), fields.place_of("token_indices"));
  problem.block_size = required_integer_of<int32_t>(fields, "block_size");
  problem.block_stride_rows = required_integer_of<int64_t>(fields, "block_stride_rows");
  problem.num_blocks = optional_integer_of<int64_t>(fields, "num_blocks");
  if (const Json* dcp = fields.find("dcp")) problem.dcp = dcp_of(*dcp, fields.place_of("dcp"));
  if (const Json* prefill = fields.find("prefill")) problem.prefill = prefill_of(*prefill, fields.place_of("prefill"));
  if (boolean_of(fields.required("compact"), fields.place_of("compact"))) problem.placement = spec::Placement::kCompacted;
  if (const Json* order = fields.find("order")) {
    if (*order != "stable" && *order != "unspecified") {
      fail(fields.place_of("order"), excerpt_of(*order) + " is none of stable, unspecified");
    }
    if (*order == "unspecified") problem.order = spec::Order::kUnspecified;
  }
  problem.tile = optional_integer_of<int32_t>(fields, "tile");
  if (const Json* layout = fields.find("layout")) {
    problem.layout = layout_of(*layout, fields.place_of("layout"), problem.token_indices);
  }
  if (const Json* schedule = fields.find("schedule")) {
    problem.schedule = schedule_of(*schedule, fields.place_of("schedule"));
  }
  if (const Json* edits = fields.find("edits")) {
    const std::string edits_place = fields.place_of("edits");
    for (size_t i = 0; i < list_of(*edits, edits_place).size(); ++i) {
      problem.edits.push_back(edit_of((*edits)[i], edits_place + "[" + std::to_string(i) + "]"));
    }
  }
  return problem;
}

namespace {
std::array<int64_t, 3> three_of(const Json& value, const std::string& place) {
  const auto numbers = integers_of<int64_t>(value, place);
  if (numbers.size() != 3) fail(place, "expected 3 numbers, got " + std::to_string(numbers.size()));
  return {numbers[0], numbers[1], numbers[2]};
}
}  // namespace

spec::FlatRowViewProblem view_of(const Json& value) {
  const Fields fields(value, "problem", {"num_blocks", "block_size", "head_dim", "block_stride", "extents", "strides"});
  spec::FlatRowViewProblem problem;
  problem.num_blocks = required_integer_of<int64_t>(fields, "num_blocks");
  problem.block_size = required_integer_of<int64_t>(fields, "block_size");
  problem.head_dim = required_integer_of<int64_t>(fields, "head_dim");
  std::array<int64_t, 3> extents = {problem.num_blocks, problem.block_size, problem.head_dim};
  if (const Json* given = fields.find("extents")) extents = three_of(*given, fields.place_of("extents"));
  std::array<int64_t, 3> strides{};
  if (const Json* given = fields.find("strides")) {
    if (fields.find("block_stride") != nullptr) {
      fail(fields.place_of("block_stride"), "given as well as strides, which begin with it");
    }
    strides = three_of(*given, fields.place_of("strides"));
  } else {
    strides = {required_integer_of<int64_t>(fields, "block_stride"), problem.head_dim, 1};
  }
  std::copy(extents.begin(), extents.end(), problem.extents);
  std::copy(strides.begin(), strides.end(), problem.strides);
  return problem;
}

LocalLengthProblem local_length_of(const Json& value) {
  const Fields fields(value, "problem", {"lengths", "dcp"});
  LocalLengthProblem problem;
  problem.lengths = integers_of<int32_t>(fields.required("lengths"), fields.place_of("lengths"));
  problem.dcp = dcp_of(fields.required("dcp"), fields.place_of("dcp"));
  // No rule says what other ranks would be dealt, so no program need survive them.
  const auto& dcp = problem.dcp;
  if (dcp.size < 1) fail("problem.dcp.size", "expected at least 1, got " + std::to_string(dcp.size));
  if (dcp.rank < 0 || dcp.rank >= dcp.size) {
    fail("problem.dcp.rank", "expected a rank in [0, " + std::to_string(dcp.size) + "), got " + std::to_string(dcp.rank));
  }
  if (dcp.interleave < 1) fail("problem.dcp.interleave", "expected at least 1, got " + std::to_string(dcp.interleave));
  return problem;
}

}  // namespace slotproof::harness
