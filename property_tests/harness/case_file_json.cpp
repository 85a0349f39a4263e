#include "property_tests/harness/case_file_json.h"

#include <algorithm>
#include <set>
#include <utility>

namespace slotproof::harness {
namespace {

constexpr size_t kMaxDepth = 16;  // file, cases, case, problem, tensor, storage, row: 7
constexpr size_t kMaxExcerpt = 60;

// ASCII and one line, whatever bytes the parser quotes.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

// For a complaint: of a long text its begin, and its end, which is next to what is wrong.
std::string shortened(const std::string& text) {
  constexpr size_t kHead = 100, kTail = 120;
  return text.size() <= kHead + kTail ? text : text.substr(0, kHead) + " ... " + text.substr(text.size() - kTail);
}

// Where the parser is, told by its events.
class Position {
 public:
  void open(bool is_array) {
    count();
    levels_.push_back({is_array, 0, {}, {}});
    if (levels_.size() > kMaxDepth) fail(text(), "nested deeper than " + std::to_string(kMaxDepth) + " levels");
  }
  void close() { levels_.pop_back(); }
  void count() {
    if (!levels_.empty() && levels_.back().is_array) ++levels_.back().num_elements;
  }
  void key(const std::string& name) {
    Level& level = levels_.back();
    level.key = name;
    if (!level.keys.insert(name).second) fail(text(), "the field is given twice");
  }
  std::string text() const {
    std::string place;
    for (const Level& level : levels_) {
      if (level.is_array) {
        const bool has_open_element = &level != &levels_.back();
        place += "[" + std::to_string(level.num_elements - (has_open_element ? 1 : 0)) + "]";
      } else if (!level.key.empty()) {
        place += (place.empty() ? "" : ".") + printable(level.key);
      }
    }
    return shortened(place);
  }

 private:
  struct Level {
    bool is_array;
    size_t num_elements;  // begun
    std::string key;
    std::set<std::string> keys;
  };
  std::vector<Level> levels_;
};

// "[json.exception.parse_error.101] parse error at line 1, column 5: ..." without what only the library's author needs.
// It quotes what was read last, however long that is.
std::string syntax_error_of(const std::string& what) {
  const auto at = what.find("line ");
  const std::string text = shortened(at == std::string::npos ? what : what.substr(at));
  return "not JSON: " + printable(text);
}

template <class Integer>
constexpr const char* kIntegerName = "";
template <>
constexpr const char* kIntegerName<int32_t> = "an integer in int32";
template <>
constexpr const char* kIntegerName<int64_t> = "an integer in int64";
template <>
constexpr const char* kIntegerName<uint64_t> = "an integer in uint64";

template <class Integer>
bool is_integer_in(const Json& value) {
  if (value.is_number_unsigned()) return std::in_range<Integer>(value.get<uint64_t>());
  return value.is_number_integer() && std::in_range<Integer>(value.get<int64_t>());
}

[[noreturn]] void fail_expected(const std::string& place, const char* what, const Json& got) {
  fail(place, std::string("expected ") + what + ", got " + excerpt_of(got));
}

// int32 bounds every extent.
int32_t extent_of(const Json& list, const std::string& place) {
  if (!std::in_range<int32_t>(list.size())) fail(place, "more elements than an int32 can count");
  return int32_t(list.size());
}

}  // namespace

void fail(const std::string& place, const std::string& problem) { throw Malformed{place, problem}; }

Json parse_json(const std::string& text) {
  Position position;
  const auto follow = [&position](int, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start: position.open(false); break;
      case Json::parse_event_t::array_start: position.open(true); break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end: position.close(); break;
      case Json::parse_event_t::key: position.key(parsed.get<std::string>()); break;
      case Json::parse_event_t::value: position.count(); break;
    }
    return true;
  };
  try {
    return Json::parse(text, follow);
  } catch (const Json::parse_error& error) {
    fail("", syntax_error_of(error.what()));
  } catch (const Json::out_of_range&) {
    fail(position.text(), "a number too large for any field");
  }
}

std::string excerpt_of(const Json& value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  if (text.size() > kMaxExcerpt) text = text.substr(0, kMaxExcerpt) + "...";
  return text;
}

Fields::Fields(const Json& object, std::string place, std::initializer_list<std::string_view> known)
    : object_(object), place_(std::move(place)) {
  if (!object.is_object()) fail_expected(place_, "an object", object);
  for (const auto& [name, value] : object.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string names;
    for (const std::string_view field : known) names += (names.empty() ? "" : ", ") + std::string(field);
    fail(place_, "unknown field " + excerpt_of(name) + "; the fields here are " + names);
  }
}

const Json* Fields::find(std::string_view name) const {
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

const Json& Fields::required(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) fail(place_of(name), "missing");
  return *value;
}

std::string Fields::place_of(std::string_view name) const {
  return place_.empty() ? std::string(name) : place_ + "." + std::string(name);
}

template <class Integer>
Integer integer_of(const Json& value, const std::string& place) {
  if (!is_integer_in<Integer>(value)) fail_expected(place, kIntegerName<Integer>, value);
  return value.get<Integer>();
}
template int32_t integer_of<int32_t>(const Json&, const std::string&);
template int64_t integer_of<int64_t>(const Json&, const std::string&);
template uint64_t integer_of<uint64_t>(const Json&, const std::string&);

std::string string_of(const Json& value, const std::string& place) {
  if (!value.is_string()) fail_expected(place, "a string", value);
  return value.get<std::string>();
}

bool boolean_of(const Json& value, const std::string& place) {
  if (!value.is_boolean()) fail_expected(place, "true or false", value);
  return value.get<bool>();
}

const Json& list_of(const Json& value, const std::string& place) {
  if (!value.is_array()) fail_expected(place, "a list", value);
  return value;
}

template <class Integer>
std::vector<Integer> integers_of(const Json& value, const std::string& place) {
  extent_of(list_of(value, place), place);
  std::vector<Integer> integers;
  integers.reserve(value.size());
  for (size_t i = 0; i < value.size(); ++i) {
    // The place is text that only a complaint needs.
    if (!is_integer_in<Integer>(value[i])) {
      fail_expected(place + "[" + std::to_string(i) + "]", kIntegerName<Integer>, value[i]);
    }
    integers.push_back(value[i].get<Integer>());
  }
  return integers;
}
template std::vector<int32_t> integers_of<int32_t>(const Json&, const std::string&);
template std::vector<int64_t> integers_of<int64_t>(const Json&, const std::string&);

OwnedMatrix rows_of(const Json& value, const std::string& place, int32_t columns_without_rows) {
  OwnedMatrix matrix;
  matrix.rows = extent_of(list_of(value, place), place);
  matrix.columns = matrix.storage_columns = columns_without_rows;
  for (size_t row = 0; row < value.size(); ++row) {
    const std::string row_place = place + "[" + std::to_string(row) + "]";
    const std::vector<int32_t> words = integers_of<int32_t>(value[row], row_place);
    if (row == 0) matrix.columns = matrix.storage_columns = int32_t(words.size());
    if (words.size() != size_t(matrix.columns)) {
      fail(row_place,
           "ragged: the row has " + std::to_string(words.size()) + " columns, row 0 has " + std::to_string(matrix.columns));
    }
    matrix.storage.insert(matrix.storage.end(), words.begin(), words.end());
  }
  return matrix;
}

OwnedMatrix tensor_of(const Json& value, const std::string& place) {
  if (value.is_array()) return rows_of(value, place, 0);
  if (!value.is_object()) fail_expected(place, "a list of rows or {\"storage\": rows, \"columns\": n}", value);
  const Fields fields(value, place, {"storage", "columns", "row_stride"});
  const auto columns = integer_of<int32_t>(fields.required("columns"), fields.place_of("columns"));
  if (columns < 0) fail(fields.place_of("columns"), "negative: " + std::to_string(columns));
  OwnedMatrix matrix = rows_of(fields.required("storage"), fields.place_of("storage"), columns);
  if (columns > matrix.storage_columns) {
    fail(fields.place_of("columns"),
         std::to_string(columns) + " is more than the " + std::to_string(matrix.storage_columns) + " columns of the storage");
  }
  matrix.columns = columns;
  if (const Json* stride = fields.find("row_stride")) {
    const std::string stride_place = fields.place_of("row_stride");
    matrix.storage_columns = integer_of<int32_t>(*stride, stride_place);
    if (matrix.rows > 0) fail(stride_place, "only a tensor without rows says it; rows have that of their storage");
    if (matrix.storage_columns < columns) fail(stride_place, std::to_string(matrix.storage_columns) + " is less than the " + std::to_string(columns) + " columns");
  }
  return matrix;
}

}  // namespace slotproof::harness
