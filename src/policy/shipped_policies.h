// The policies that are part of the library (policies/README.md).
#pragma once

#include <xflow/error.h>

#include <optional>
#include <string>
#include <string_view>

namespace xflow::policy {

// What names of shipped policies begin with where the path of a policy is expected: "shipped:go".
constexpr std::string_view kShippedPolicy = "shipped:";

// The bytes of the file of a shipped policy; nothing if `path` does not begin with kShippedPolicy. Errors:
// invalid_argument for another name, with the names that there are.
std::optional<Result<std::string>> shipped_policy(std::string_view path);

}  // namespace xflow::policy
