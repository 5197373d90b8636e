// A file descriptor closed by its destructor.
#pragma once

#include <unistd.h>

#include <utility>

namespace compat {

class Fd {
  public:
    Fd() = default;
    explicit Fd(int fd) : value_(fd) {}
    Fd(Fd&& other) noexcept : value_(other.release()) {}
    Fd& operator=(Fd&& other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }
    ~Fd() {
        if (value_ >= 0) ::close(value_);
    }
    [[nodiscard]] int get() const { return value_; }
    [[nodiscard]] bool valid() const { return value_ >= 0; }
    int release() { return std::exchange(value_, -1); }

  private:
    int value_ = -1;
};

}  // namespace compat
