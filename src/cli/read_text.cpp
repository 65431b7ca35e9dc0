#include "src/cli/read_text.h"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

namespace xflow::cli {

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return fail(ErrorCode::unreadable, "cannot be read: " + std::generic_category().message(errno), path);
  return text;
}

}  // namespace xflow::cli
