// Pieces of work done by several processes: the first hands them out, the others do them. How messages travel is another matter.
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
    std::size_t process;  // that sent it
    std::string text;
  };
  virtual std::size_t others() const = 0;
  virtual void send(std::size_t process, const std::string& text) = 0;
  virtual Message receive() = 0;  // waits
};

// In the first process. Whoever is idle gets one piece at a time; when this object ends, the others are told to stop.
class Processes final : public GeneratorWorkers {
 public:
  explicit Processes(std::unique_ptr<Messages> messages) : messages_(std::move(messages)) {}
  ~Processes() override;

  // The work is done by what the others gave to `serve`. After an error no piece is handed out, and those under way come to their end.
  Result<void> run(const std::vector<std::string>& pieces, const GeneratorTask& work,
                   const std::function<Result<void>(std::size_t piece, std::string result)>& done) override;
  std::size_t width() const override { return messages_->others(); }

 private:
  std::unique_ptr<Messages> messages_;
};

// In another process: does the pieces that the first one sends and answers with the result or the error, until it is told to stop.
void serve(Messages& messages, const GeneratorTask& work);

}  // namespace xflow::cli
