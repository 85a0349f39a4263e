#pragma once
// The layer between JSON and case files: values of a required type, or a complaint that names the place. Exceptions stay
// inside the case_file*.cpp files; parse_cases turns them into text.

#include "property_tests/harness/remap_case.h"

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace slotproof::harness {

using Json = nlohmann::json;

struct Malformed {
  std::string place;    // "problem.block_size"; empty: the value as a whole
  std::string problem;  // "expected an integer in int32, got "x""
};
[[noreturn]] void fail(const std::string& place, const std::string& problem);

// The text as JSON. Refuses bytes that are not JSON (with line and column), nesting deeper than any case file needs, and a
// field given twice.
Json parse_json(const std::string& text);

// The value for an error message: ASCII, one line, short.
std::string excerpt_of(const Json& value);

// The fields of an object, none of them unknown: a misspelt optional field would otherwise be an absent one.
class Fields {
 public:
  Fields(const Json& object, std::string place, std::initializer_list<std::string_view> known);
  const Json* find(std::string_view name) const;  // null where absent
  const Json& required(std::string_view name) const;
  std::string place_of(std::string_view name) const;

 private:
  const Json& object_;
  std::string place_;
};

template <class Integer>  // int32_t, int64_t, uint64_t
Integer integer_of(const Json& value, const std::string& place);
std::string string_of(const Json& value, const std::string& place);
bool boolean_of(const Json& value, const std::string& place);
const Json& list_of(const Json& value, const std::string& place);

template <class Integer>  // int32_t, int64_t
std::vector<Integer> integers_of(const Json& value, const std::string& place);

// Rows of equal width; columns_without_rows is the width of a list without rows.
OwnedMatrix rows_of(const Json& value, const std::string& place, int32_t columns_without_rows);
// A nested list or {"storage": [[...]], "columns": n}.
OwnedMatrix tensor_of(const Json& value, const std::string& place);

}  // namespace slotproof::harness
