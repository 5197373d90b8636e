// A log file of bounded size: past the bound the middle is dropped, the head and the tail are kept.
// Not here: reading the child's output (launcher_posix.cc).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "runner/base/error.h"

namespace compat::exec {

class LogWriter {
  public:
    // `limit` in bytes, 0: none. The first half of it is the head; the rest is a ring that holds
    // the tail.
    LogWriter(std::filesystem::path path, std::uint64_t limit);
    ~LogWriter();
    LogWriter(const LogWriter&) = delete;
    LogWriter& operator=(const LogWriter&) = delete;

    void append(std::string_view bytes);

    // Puts the tail in order behind a line that says how many bytes are missing, and closes the
    // file. Returns that number. The first failed write is kept in `trouble`; later ones do
    // nothing.
    std::uint64_t finish();
    [[nodiscard]] const std::optional<Error>& trouble() const { return trouble_; }

  private:
    void write_at(std::uint64_t offset, std::string_view bytes);
    void unroll(std::uint64_t dropped);
    void note_failure(int error);

    std::filesystem::path path_;
    int fd_ = -1;
    std::uint64_t head_ = 0;   // bytes kept from the start
    std::uint64_t tail_ = 0;   // size of the ring behind the head
    std::uint64_t total_ = 0;  // bytes appended so far
    std::optional<Error> trouble_;
};

}  // namespace compat::exec
