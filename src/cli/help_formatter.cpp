#include "src/cli/help_formatter.h"

#include <cstddef>
#include <utility>

namespace xflow::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kTexts = 32;  // the column at which descriptions begin

}  // namespace

HelpFormatter::HelpFormatter() { column_width(kTexts); }

// CLI11 leaves two empty lines between groups; this leaves one.
std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
  for (std::size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n", at)) text.erase(at, 1);
  return text;
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return {};
  // Validators append the allowed values after ":". The description lists them already.
  std::string text = option->get_type_name();
  text = " " + text.substr(0, text.find(':'));
  if (!option->get_default_str().empty()) text += "=" + option->get_default_str();
  return text;
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string lines = "  " + make_option_name(option, is_positional) + make_option_opts(option);
  std::size_t column = lines.size();
  if (column + 1 > kTexts) {
    lines += '\n';
    column = 0;
  }
  lines.append(kTexts - column, ' ');
  column = kTexts;
  const std::string text = make_option_desc(option);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    if (column > kTexts && column + 1 + (end - at) > kWidth) {
      lines += '\n';
      lines.append(kTexts, ' ');
      column = kTexts;
    } else if (column > kTexts) {
      lines += ' ';
      ++column;
    }
    lines += text.substr(at, end - at);
    column += end - at;
    at = end + 1;
  }
  return lines + '\n';
}

}  // namespace xflow::cli
