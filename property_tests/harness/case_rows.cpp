#include "property_tests/harness/case_rows.h"

#include <algorithm>

namespace slotproof::harness {

RemapCase with_rows(const RemapCase& remap_case, const std::vector<int32_t>& rows) {
  const OwnedMatrix& from = remap_case.token_indices;
  RemapCase made = remap_case;
  made.token_indices = OwnedMatrix::filled(int32_t(rows.size()), from.columns, spec::kNone, from.storage_columns);
  made.req_id.assign(rows.size(), 0);
  if (made.prefill) made.prefill->request_ids.assign(rows.size(), spec::kNone);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0) continue;
    const auto row = size_t(rows[i]);
    std::copy_n(from.storage.begin() + int64_t(row) * from.storage_columns, from.storage_columns,
                made.token_indices.storage.begin() + int64_t(i) * from.storage_columns);
    made.req_id[i] = remap_case.req_id[row];
    if (made.prefill) made.prefill->request_ids[i] = remap_case.prefill->request_ids[row];
  }
  return made;
}

}  // namespace slotproof::harness
