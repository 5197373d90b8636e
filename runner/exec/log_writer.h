// Writes a log file of bounded size that keeps the head and the tail and drops the middle. Not
// here: reading the child's output (child_process.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "runner/base/error.h"

namespace compat::exec {

class LogWriter {
  public:
    // `limit` in bytes; 0: none. The first half is the head, the rest a ring buffer for the tail.
    LogWriter(std::filesystem::path path, std::uint64_t limit);
    ~LogWriter();
    LogWriter(const LogWriter&) = delete;
    LogWriter& operator=(const LogWriter&) = delete;

    void append(std::string_view bytes);

    // Closes the file and returns the number of dropped bytes, which a line before the tail names.
    // After a failed write, later ones do nothing.
    std::uint64_t finish();
    // The first failure.
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  private:
    void write_at(std::uint64_t offset, std::string_view bytes);
    void move_tail_behind_head(std::uint64_t dropped);
    void keep_error(int error);

    std::filesystem::path path_;
    int fd_ = -1;
    std::uint64_t head_ = 0;   // bytes kept from the start
    std::uint64_t tail_ = 0;   // size of the ring buffer after the head
    std::uint64_t total_ = 0;  // bytes appended so far
    std::optional<Error> error_;
};

}  // namespace compat::exec
