// A decision to accept or to refuse something, with the reason for a refusal.
#pragma once

#include <string>
#include <utility>

namespace xflow {

struct [[nodiscard]] Acceptance {
  bool accepted = true;
  std::string reason = {};  // for people, a clause; empty if accepted

  explicit operator bool() const { return accepted; }
  friend bool operator==(const Acceptance&, const Acceptance&) = default;
};

inline Acceptance accepted() { return {}; }
inline Acceptance refused(std::string reason) { return {false, std::move(reason)}; }

}  // namespace xflow
