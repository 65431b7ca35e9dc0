// Distribution of tasks: the first process hands out tasks, the other processes do them. Messages is the
// transport.
#pragma once

#include <xflow/generate.h>

#include <cstddef>
#include <memory>
#include <string>

namespace xflow::cli {

// Messages between the first process and the others, which are numbered from 1.
class Messages {
 public:
  Messages() = default;
  virtual ~Messages() = default;
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  struct Message {
    std::size_t process;  // the sender
    std::string text;
  };
  // The number of the other processes.
  virtual std::size_t others() const = 0;
  virtual void send(std::size_t process, const std::string& text) = 0;
  virtual Message receive() = 0;  // blocks until a message arrives
};

// The workers, as seen by the first process. An idle process gets one task at a time. The destructor tells
// the other processes to stop.
class Processes final : public GeneratorWorkers {
 public:
  explicit Processes(std::unique_ptr<Messages> messages) : messages_(std::move(messages)) {}
  ~Processes() override;

  // Runs all tasks with the function that the other processes passed to serve(); `work` is ignored. After an
  // error no more tasks are handed out, and those under way are completed.
  Result<void> run(const std::vector<std::string>& tasks, const GeneratorTask& work,
                   const std::function<Result<void>(std::size_t task, std::string result)>& done) override;
  std::size_t width() const override { return messages_->others(); }

 private:
  std::unique_ptr<Messages> messages_;
};

// Runs in the other processes: does the tasks that the first process sends and answers with the result or
// the error, until it receives the stop message.
void serve(Messages& messages, const GeneratorTask& work);

}  // namespace xflow::cli
