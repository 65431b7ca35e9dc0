#include "src/cli/processes/processes.h"

#include <exception>
#include <utility>
#include <vector>

namespace xflow::cli {
namespace {

// The first character of a message is its kind.
constexpr char kTask = 'p';
constexpr char kStop = 's';
constexpr char kDone = 'd';
constexpr char kFailed = 'f';  // the code as a character, the place, a character 0, the message

std::string answer(const Result<std::string>& result) {
  if (result) return kDone + *result;
  const Error& e = result.error();
  return std::string{kFailed, static_cast<char>(e.code)} + e.where + '\0' + e.message;
}

Result<std::string> answered(const std::string& text) {
  if (text.starts_with(kDone)) return text.substr(1);
  const std::size_t end = text.find('\0', 2);
  if (!text.starts_with(kFailed) || end == std::string::npos) return fail(ErrorCode::internal, "a process sent an invalid answer");
  return fail(static_cast<ErrorCode>(text[1]), text.substr(end + 1), text.substr(2, end - 2));
}

// Does a task and turns exceptions into errors, because the first process waits for an answer.
Result<std::string> do_task(const GeneratorTask& work, const std::string& task) {
  try {
    return work(task);
  } catch (const std::exception& e) {  // thrown by the standard library: out of memory
    return fail(ErrorCode::limit, e.what());
  }
}

}  // namespace

Processes::~Processes() {
  for (std::size_t process = 1; process <= messages_->others(); ++process) messages_->send(process, std::string(1, kStop));
}

Result<void> Processes::run(const std::vector<std::string>& tasks, const GeneratorTask& /*work*/,
                            const std::function<Result<void>(std::size_t task, std::string result)>& done) {
  std::vector<std::size_t> task_of(messages_->others() + 1);  // by process
  std::size_t next = 0;
  const auto hand_out = [&](std::size_t process) {
    task_of[process] = next;
    messages_->send(process, kTask + tasks[next++]);
  };
  while (next < tasks.size() && next < messages_->others()) hand_out(next + 1);
  Result<void> outcome;
  for (std::size_t under_way = next; under_way != 0; --under_way) {
    const Messages::Message message = messages_->receive();
    const std::size_t task = task_of[message.process];
    if (!outcome) continue;
    Result<std::string> result = answered(message.text);
    if (result && next < tasks.size()) {
      hand_out(message.process);
      ++under_way;
    }
    outcome = result ? done(task, *std::move(result)) : Result<void>(fail(std::move(result).error()));
  }
  return outcome;
}

void serve(Messages& messages, const GeneratorTask& work) {
  for (;;) {
    const std::string text = messages.receive().text;
    if (text.starts_with(kStop)) return;
    messages.send(0, answer(do_task(work, text.substr(1))));
  }
}

}  // namespace xflow::cli
