// A file descriptor that is closed by its destructor.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace xflow::onnx_io {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }  // negative if nothing is open
  explicit operator bool() const { return number_ >= 0; }
  // Closes now. Returns the errno of close, or 0 if it succeeded or nothing was open.
  int close() {
    const int number = std::exchange(number_, -1);
    return number < 0 || ::close(number) == 0 ? 0 : errno;
  }

 private:
  int number_ = -1;
};

}  // namespace xflow::onnx_io
