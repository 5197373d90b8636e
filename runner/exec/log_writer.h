// Writes a log file of bounded size that keeps the head and the tail and drops the middle. It is a
// new file: nothing that stands at its name is written to. Not here: reading the child's output
// (child_process.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runner/base/error.h"
#include "runner/base/files/file_below.h"

namespace compat::exec {

class LogWriter {
  public:
    // `limit` in bytes; 0: none. The first half is the head, the rest a ring buffer for the tail.
    LogWriter(FileBelow file, std::uint64_t limit);
    LogWriter(const LogWriter&) = delete;
    LogWriter& operator=(const LogWriter&) = delete;

    void append(std::string_view bytes);

    // Closes the file and returns the number of dropped bytes, which a line before the tail names.
    // After a failed write, later ones do nothing.
    std::uint64_t finish();
    // The first failure. Its kind is io if other logs will fail as well: a full disk.
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  private:
    void write_at(std::uint64_t offset, std::string_view bytes);
    void move_tail_behind_head(std::uint64_t dropped);
    void keep_error(Error error);
    void keep_error(int error);

    FileBelow file_;
    Fd fd_;
    std::uint64_t head_ = 0;   // bytes kept from the start
    std::uint64_t tail_ = 0;   // size of the ring buffer after the head
    std::uint64_t total_ = 0;  // bytes appended so far
    std::optional<Error> error_;
};

}  // namespace compat::exec
