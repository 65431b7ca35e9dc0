// A JSON document of a user, with the lines of its values.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "xflow/error.h"

namespace xflow::parallel {

using Json = nlohmann::json;

// The value of a text. Lines are found when a message needs one, by reading the text again.
class JsonDocument {
 public:
  // Parses a text that must be an object; `what` says in messages which one. The text, which the document
  // refers to, must outlive it. Errors: unreadable, with the file and the line.
  static Result<JsonDocument> parse(std::string_view text, std::string where, std::string_view what);

  const Json& root() const { return root_; }

  // "file:line" of a value of the document: that of its name if it is a field, or else that on which it
  // begins. Lines end with \n or \r\n.
  std::string place_of(const Json& value) const;
  // An error: unreadable, at the value's place.
  Unexpected fault(const Json& value, std::string message) const;

 private:
  JsonDocument(std::string_view text, std::string where, Json root) : text_(text), where_(std::move(where)), root_(std::move(root)) {}

  std::string_view text_;
  std::string where_;  // the file
  Json root_;
};

// A value for a message: at most 40 characters, without what is in nested arrays and objects.
std::string brief_text(const Json& value);

}  // namespace xflow::parallel
