// Reads fields of JSON objects with messages that name them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/parallel/json_document.h"
#include "xflow/error.h"

namespace xflow::parallel {

inline bool is_int64(const Json& value) {
  return value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX});
}

// The fields of an object whose name in messages is `owner`, such as "node 3: "; may be empty. A fault has
// the line of the field, or of the object if the field is missing.
class JsonFields {
 public:
  JsonFields(const Json& object, std::string owner, const JsonDocument& document)
      : object_(object), owner_(std::move(owner)), document_(document) {}

  bool has(const char* name) const { return object_.contains(name) && !object_[name].is_null(); }

  Result<const Json*> find(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) return fault(fmt::format("has no '{}'", name));
    return &*found;
  }
  Result<std::int64_t> integer(const char* name) const {
    XFLOW_TRY(const Json* value, find(name));
    if (!is_int64(*value)) return fault_of(name, fmt::format("'{}' is not an integer: {}", name, brief_text(*value)));
    return value->get<std::int64_t>();
  }
  // A number that is neither negative nor infinite.
  Result<double> amount(const char* name) const {
    XFLOW_TRY(const Json* value, find(name));
    if (!value->is_number()) return fault_of(name, fmt::format("'{}' is not a number: {}", name, brief_text(*value)));
    const double number = value->get<double>();
    if (!std::isfinite(number)) return fault_of(name, fmt::format("'{}' is not finite", name));
    if (number < 0) return fault_of(name, fmt::format("'{}' is negative: {}", name, number));
    if (number > kMostAmount) return fault_of(name, fmt::format("'{}' is above {:g}: {}", name, kMostAmount, number));
    return number;
  }
  // true, false, 0 or 1.
  Result<bool> flag(const char* name) const {
    XFLOW_TRY(const Json* value, find(name));
    if (value->is_boolean()) return value->get<bool>();
    if (value->is_number() && (*value == 0 || *value == 1)) return *value == 1;
    return fault_of(name, fmt::format("'{}' is not true, false, 0 or 1: {}", name, brief_text(*value)));
  }
  Result<const Json*> array(const char* name) const {
    XFLOW_TRY(const Json* value, find(name));
    if (!value->is_array()) return fault_of(name, fmt::format("'{}' is not an array", name));
    return value;
  }

  // A text that is not empty.
  Result<std::string> text(const char* name) const {
    XFLOW_TRY(const Json* value, find(name));
    if (!value->is_string() || value->get_ref<const std::string&>().empty())
      return fault_of(name, fmt::format("'{}' is not a text, or empty", name));
    return value->get<std::string>();
  }
  // Whether the object has no other fields than these.
  Result<void> only(std::span<const std::string_view> known) const {
    for (const auto& [name, value] : object_.items()) {
      if (std::find(known.begin(), known.end(), name) == known.end()) return fault_at(value, fmt::format("unknown field '{}'", name));
    }
    return {};
  }

  // A fault of the object, of a field that it has, and of a value in it.
  Unexpected fault(const std::string& text) const { return fault_at(object_, text); }
  Unexpected fault_of(const char* name, const std::string& text) const { return fault_at(object_.at(name), text); }
  Unexpected fault_at(const Json& value, const std::string& text) const { return document_.fault(value, owner_ + text); }

  const JsonDocument& document() const { return document_; }

 private:
  // Sums of so many numbers stay finite, and differences are meaningful.
  static constexpr double kMostAmount = 1e30;

  const Json& object_;
  std::string owner_;
  const JsonDocument& document_;
};

}  // namespace xflow::parallel
