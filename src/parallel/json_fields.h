// Reads fields of JSON objects with messages that name them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "xflow/error.h"

namespace xflow::parallel {

using Json = nlohmann::json;

// Parses a document that must be an object. Errors: unreadable.
inline Result<Json> parse_object(std::string_view text, const std::string& where, std::string_view what) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded())
    return fail(ErrorCode::unreadable, fmt::format("not JSON, or a number is out of range; expected {}", what), where);
  if (!json.is_object()) return fail(ErrorCode::unreadable, fmt::format("expected {}, which is an object", what), where);
  return json;
}

// The field of an object whose name in messages is `owner`, such as "node 3: "; may be empty.
class JsonFields {
 public:
  JsonFields(const Json& object, std::string owner, const std::string& where) : object_(object), owner_(std::move(owner)), where_(where) {}

  bool has(const char* name) const { return object_.contains(name) && !object_[name].is_null(); }

  Result<const Json*> find(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) return fault(fmt::format("has no '{}'", name));
    return &*found;
  }
  Result<std::int64_t> integer(const char* name) const {
    XFLOW_TRY(const Json* value, find(name));
    const bool is_large = value->is_number_unsigned() && value->get<std::uint64_t>() > std::uint64_t{INT64_MAX};
    if (!value->is_number_integer() || is_large) return fault(fmt::format("'{}' is not an integer: {}", name, text_of(*value)));
    return value->get<std::int64_t>();
  }
  // A number that is neither negative nor infinite.
  Result<double> amount(const char* name) const {
    XFLOW_TRY(const Json* value, find(name));
    if (!value->is_number()) return fault(fmt::format("'{}' is not a number: {}", name, text_of(*value)));
    const double number = value->get<double>();
    if (!std::isfinite(number)) return fault(fmt::format("'{}' is not finite", name));
    if (number < 0) return fault(fmt::format("'{}' is negative: {}", name, number));
    if (number > kMostAmount) return fault(fmt::format("'{}' is above {:g}: {}", name, kMostAmount, number));
    return number;
  }
  // true, false, 0 or 1.
  Result<bool> flag(const char* name) const {
    XFLOW_TRY(const Json* value, find(name));
    if (value->is_boolean()) return value->get<bool>();
    if (value->is_number() && (*value == 0 || *value == 1)) return *value == 1;
    return fault(fmt::format("'{}' is not true, false, 0 or 1: {}", name, text_of(*value)));
  }
  Result<const Json*> array(const char* name) const {
    XFLOW_TRY(const Json* value, find(name));
    if (!value->is_array()) return fault(fmt::format("'{}' is not an array", name));
    return value;
  }

  // A text that is not empty.
  Result<std::string> text(const char* name) const {
    XFLOW_TRY(const Json* value, find(name));
    if (!value->is_string() || value->get_ref<const std::string&>().empty())
      return fault(fmt::format("'{}' is not a text, or empty", name));
    return value->get<std::string>();
  }
  // Whether the object has no other fields than these.
  Result<void> only(std::span<const std::string_view> known) const {
    for (const auto& [name, value] : object_.items()) {
      if (std::find(known.begin(), known.end(), name) == known.end()) return fault(fmt::format("unknown field '{}'", name));
    }
    return {};
  }

  Unexpected fault(const std::string& text) const { return fail(ErrorCode::unreadable, owner_ + text, where_); }

 private:
  // Sums of so many numbers stay finite, and differences are meaningful.
  static constexpr double kMostAmount = 1e30;
  static constexpr std::size_t kMostText = 40;

  static std::string text_of(const Json& value) {
    std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (text.size() <= kMostText) return text;
    text.resize(kMostText);
    return text.append("...");
  }

  const Json& object_;
  std::string owner_;
  const std::string& where_;
};

}  // namespace xflow::parallel
