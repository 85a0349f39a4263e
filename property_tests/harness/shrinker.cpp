#include "property_tests/harness/shrinker.h"

#include <algorithm>
#include <optional>

namespace slotproof::harness {
namespace {

OwnedMatrix without_rows(const OwnedMatrix& matrix, int32_t begin, int32_t end) {
  OwnedMatrix smaller = matrix;
  const auto at = [&](int32_t row) { return smaller.storage.begin() + int64_t{row} * matrix.storage_columns; };
  smaller.storage.erase(at(begin), at(end));
  smaller.rows -= end - begin;
  return smaller;
}

OwnedMatrix without_columns(const OwnedMatrix& matrix, int32_t begin, int32_t end) {
  OwnedMatrix smaller{matrix.rows, matrix.columns - (end - begin), matrix.storage_columns - (end - begin), {}};
  smaller.storage.reserve(size_t(smaller.rows) * size_t(smaller.storage_columns));
  for (int32_t row = 0; row < matrix.rows; ++row) {
    const auto row_begin = matrix.storage.begin() + int64_t{row} * matrix.storage_columns;
    smaller.storage.insert(smaller.storage.end(), row_begin, row_begin + begin);
    smaller.storage.insert(smaller.storage.end(), row_begin + end, row_begin + matrix.storage_columns);
  }
  return smaller;
}

OwnedMatrix without_hidden_columns(const OwnedMatrix& matrix) {
  OwnedMatrix smaller = without_columns({matrix.rows, matrix.storage_columns, matrix.storage_columns, matrix.storage}, matrix.columns,
                                        matrix.storage_columns);
  smaller.columns = matrix.columns;
  return smaller;
}

// Goes through the neighbours of a pass, counts them and makes the one that is wanted, if any is.
class Neighbours {
 public:
  Neighbours(const RemapCase& from, ShrinkPass pass, int wanted = -1) : from_(from), wanted_(wanted) {
    switch (pass) {
      case ShrinkPass::kRows: drop_rows(); break;
      case ShrinkPass::kColumns: drop_columns(); break;
      case ShrinkPass::kOptions: drop_options(); break;
      case ShrinkPass::kTable: drop_table(); break;
      case ShrinkPass::kSizes: plain_sizes(); break;
      case ShrinkPass::kLayout: plain_layout(); break;
      case ShrinkPass::kAllValues: plain_values_at_once(); break;
      case ShrinkPass::kValues: plain_values(); break;
    }
  }
  int count() const { return count_; }
  RemapCase take() { return std::move(*found_); }

 private:
  void add(auto change) {
    if (count_++ == wanted_) change(found_.emplace(from_));
  }

  // Halves first, then quarters, ... then one at a time.
  static void for_each_piece(int32_t extent, auto use) {
    for (int32_t size = (extent + 1) / 2; size >= 1; size /= 2) {
      for (int32_t begin = 0; begin < extent; begin += size) use(begin, std::min(begin + size, extent));
    }
  }

  void drop_rows() {
    for_each_piece(from_.num_tokens(), [&](int32_t begin, int32_t end) {
      add([&](RemapCase& c) {
        c.token_indices = without_rows(c.token_indices, begin, end);
        const auto cut = [&](std::vector<int32_t>& values) {
          const auto at = [&](int32_t i) { return values.begin() + std::min<int64_t>(i, std::ssize(values)); };
          values.erase(at(begin), at(end));
        };
        cut(c.req_id);
        if (c.prefill) cut(c.prefill->request_ids);
      });
    });
  }

  void drop_columns() {
    for_each_piece(from_.topk(), [&](int32_t begin, int32_t end) {
      add([&](RemapCase& c) {
        c.token_indices = without_columns(c.token_indices, begin, end);
        if (c.layout.slots_storage_columns > 0) c.layout.slots_storage_columns -= end - begin;
        if (c.tile && *c.tile > 0 && c.topk() % *c.tile != 0) c.tile = 1;  // stays an explicit tile that divides K
      });
    });
  }

  void drop_options() {
    const auto drop_if = [&](bool is_there, auto change) {
      if (is_there) add(change);
    };
    drop_if(!from_.edits.empty(), [](RemapCase& c) { c.edits.clear(); });
    drop_if(from_.prefill.has_value(), [](RemapCase& c) { c.prefill.reset(); });
    drop_if(from_.prefill && from_.prefill->num_workspace_rows, [](RemapCase& c) { c.prefill->num_workspace_rows.reset(); });
    drop_if(from_.num_blocks.has_value(), [](RemapCase& c) { c.num_blocks.reset(); });
    drop_if(from_.tile.has_value(), [](RemapCase& c) { c.tile.reset(); });
    drop_if(from_.dcp.size != 1, [](RemapCase& c) { c.dcp = {}; });
    drop_if(from_.dcp.size > 2, [](RemapCase& c) { c.dcp.size = 2, c.dcp.rank = std::min(c.dcp.rank, 1); });
    drop_if(from_.dcp.interleave > 2, [](RemapCase& c) { c.dcp.interleave = c.dcp.interleave % 2 == 0 ? 2 : 1; });
    drop_if(from_.dcp.interleave > 1, [](RemapCase& c) { c.dcp.interleave = 1; });
    drop_if(from_.dcp.rank > 0, [](RemapCase& c) { c.dcp.rank = 0; });
    drop_if(from_.placement == spec::Placement::kCompacted, [](RemapCase& c) { c.placement = spec::Placement::kInPlace, c.order = spec::Order::kStable; });
    drop_if(from_.order == spec::Order::kUnspecified, [](RemapCase& c) { c.order = spec::Order::kStable; });
    drop_if(from_.counts, [](RemapCase& c) { c.counts = false; });
  }

  void drop_table() {
    for_each_piece(from_.block_table.rows, [&](int32_t begin, int32_t end) {
      add([&](RemapCase& c) {
        c.block_table = without_rows(c.block_table, begin, end);
        for (int32_t& request : c.req_id) {
          if (request >= end) request -= end - begin;
        }
      });
    });
    for_each_piece(from_.block_table.columns, [&](int32_t begin, int32_t end) {
      add([&](RemapCase& c) { c.block_table = without_columns(c.block_table, begin, end); });
    });
    if (!from_.prefill) return;
    for_each_piece(int32_t(from_.prefill->workspace_starts.size()), [&](int32_t begin, int32_t end) {
      add([&](RemapCase& c) {
        auto& starts = c.prefill->workspace_starts;
        starts.erase(starts.begin() + begin, starts.begin() + end);
        for (int32_t& id : c.prefill->request_ids) {
          if (id >= end) id -= end - begin;
        }
      });
    });
  }

  void plain_sizes() {
    if (from_.block_size < 1) add([](RemapCase& c) { c.block_size = 1; });  // where A5 is not what fails
    for (const int32_t size : {1, 2, 4}) {
      if (from_.block_size <= size) continue;
      add([&](RemapCase& c) {
        c.block_stride_rows = c.block_stride_rows == c.block_size ? size : std::max<int64_t>(c.block_stride_rows / c.block_size * size, size + 1);
        c.block_size = size;
        if (c.dcp.interleave > 1) c.dcp.interleave = size;
      });
    }
    if (from_.block_stride_rows > from_.block_size) {
      for (const int64_t stride : {int64_t{from_.block_size}, int64_t{from_.block_size} + 1, from_.block_stride_rows / 2}) {
        if (stride < from_.block_stride_rows) add([&](RemapCase& c) { c.block_stride_rows = stride; });
      }
    }
  }

  void plain_layout() {
    if (from_.block_table.storage_columns > from_.block_table.columns) add([](RemapCase& c) { c.block_table = without_hidden_columns(c.block_table); });
    if (from_.token_indices.storage_columns > from_.topk()) add([](RemapCase& c) { c.token_indices = without_hidden_columns(c.token_indices); });
    if (from_.layout != Layout{}) add([](RemapCase& c) { c.layout = {}; });
    if (from_.layout.slots_storage_columns >= 0) add([](RemapCase& c) { c.layout.slots_storage_columns = -1; });
    if (from_.schedule.team_width != 32) add([](RemapCase& c) { c.schedule.team_width = 32; });
    if (from_.schedule.team_width > 64) add([](RemapCase& c) { c.schedule.team_width = 64; });
    if (from_.schedule.planned_rows != 0) add([](RemapCase& c) { c.schedule.planned_rows = 0; });
    if (from_.schedule.thread_order_seed != 0) add([](RemapCase& c) { c.schedule.thread_order_seed = 0; });
    if (from_.schedule.cta_order_seed != 0) add([](RemapCase& c) { c.schedule.cta_order_seed = 0; });
  }

  // Numbers nearer to 0, or to -1 where they are negative.
  void plain_numbers(auto values_of) {
    const auto& values = values_of(const_cast<RemapCase&>(from_));
    // Halves at a time are not worth a try on numbers: the interesting ones are few by now.
    if (values.size() > 64) return;
    for (size_t i = 0; i < values.size(); ++i) {
      const int32_t value = values[i];
      const auto set = [&](int32_t simpler) {
        add([&](RemapCase& c) { values_of(c)[i] = simpler; });
      };
      if (value < -1) set(-1);
      if (value <= 0) continue;
      set(0);
      if (value > 1) set(1);
      if (value > 3) set(value / 2);
      // Towards the smallest that will do, in ever smaller steps: one at a time from a large number would take all tries.
      if (value > 64) set(value - value / 4), set(value - value / 16), set(value - value / 64);
      else if (value > 1) set(value - 1);
    }
  }

  // All numbers of a tensor at once: one try where one at a time would be hundreds.
  void plain_values_at_once() {
    const auto set_all = [&](auto values_of, int32_t value) {
      const auto& values = values_of(const_cast<RemapCase&>(from_));
      const auto is_plainer = [&](int32_t old) { return value == 0 ? old > 0 : old < -1; };
      if (std::none_of(values.begin(), values.end(), is_plainer)) return;
      add([&](RemapCase& c) { std::replace_if(values_of(c).begin(), values_of(c).end(), is_plainer, value); });
    };
    for (const int32_t value : {0, -1}) {
      set_all([](RemapCase& c) -> std::vector<int32_t>& { return c.token_indices.storage; }, value);
      set_all([](RemapCase& c) -> std::vector<int32_t>& { return c.block_table.storage; }, value);
      set_all([](RemapCase& c) -> std::vector<int32_t>& { return c.req_id; }, value);
    }
  }

  void plain_values() {
    plain_numbers([](RemapCase& c) -> std::vector<int32_t>& { return c.req_id; });
    plain_numbers([](RemapCase& c) -> std::vector<int32_t>& { return c.block_table.storage; });
    plain_numbers([](RemapCase& c) -> std::vector<int32_t>& { return c.token_indices.storage; });
    if (!from_.prefill) return;
    plain_numbers([](RemapCase& c) -> std::vector<int32_t>& { return c.prefill->workspace_starts; });
    plain_numbers([](RemapCase& c) -> std::vector<int32_t>& { return c.prefill->request_ids; });
  }

  const RemapCase& from_;
  const int wanted_;
  int count_ = 0;
  std::optional<RemapCase> found_;
};

}  // namespace

int num_simpler_cases(const RemapCase& remap_case, ShrinkPass pass) {
  return Neighbours(remap_case, pass).count();
}

RemapCase simpler_case(const RemapCase& remap_case, ShrinkPass pass, int index) {
  return Neighbours(remap_case, pass, index).take();
}

std::vector<RemapCase> simpler_cases(const RemapCase& remap_case, ShrinkPass pass) {
  std::vector<RemapCase> all;
  const int count = num_simpler_cases(remap_case, pass);
  for (int index = 0; index < count; ++index) all.push_back(simpler_case(remap_case, pass, index));
  return all;
}

std::vector<RemapCase> simpler_cases(const RemapCase& remap_case) {
  std::vector<RemapCase> all;
  for (int pass = 0; pass < kNumShrinkPasses; ++pass) {
    for (RemapCase& neighbour : simpler_cases(remap_case, ShrinkPass(pass))) all.push_back(std::move(neighbour));
  }
  return all;
}

Shrunk shrink(const RemapCase& failing, const std::function<bool(const RemapCase&)>& still_fails, int max_tries,
              const std::function<bool()>& should_stop) {
  Shrunk shrunk{failing, 0, 0};
  const auto is_spent = [&] { return shrunk.num_tries == max_tries || should_stop(); };
  // Takes the first neighbour that still fails; false where there is none.
  const auto step = [&](ShrinkPass pass) {
    const int count = num_simpler_cases(shrunk.remap_case, pass);
    for (int index = 0; index < count; ++index) {
      if (is_spent()) return false;
      RemapCase candidate = simpler_case(shrunk.remap_case, pass, index);
      ++shrunk.num_tries;
      if (!still_fails(candidate)) continue;
      shrunk.remap_case = std::move(candidate);
      ++shrunk.num_steps;
      return true;
    }
    return false;
  };
  for (int steps_before = -1; steps_before != shrunk.num_steps && !is_spent();) {
    steps_before = shrunk.num_steps;
    for (int pass = 0; pass < kNumShrinkPasses; ++pass) {
      while (step(ShrinkPass(pass))) {
      }
    }
  }
  return shrunk;
}

}  // namespace slotproof::harness
