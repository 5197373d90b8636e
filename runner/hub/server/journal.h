// Says what was asked of a hub and how it was answered: lines of hub.jsonl
// (docs/reference/file-formats.md) and the summary of the run, which can be read again from these
// lines if the run was killed. Not for the answers (hub.cc).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "runner/base/files/file_below.h"
#include "runner/hub/hub.h"
#include "runner/hub/source/source.h"

namespace compat::hub {

// How something was answered.
enum class How {
    recorded,
    fetched,
    generated,
    absent,   // its repository has no such file
    missing,  // neither stored, nor fetched, nor made
    damaged,  // the stored content
    failed,   // the hub elsewhere, or the generator
};
[[nodiscard]] std::string_view name_of(How how);

struct Entry {
    How how = How::recorded;
    std::string_view kind;  // "model", "url"
    std::string name;       // of the repository, or the address
    std::string revision{}, file{};
    std::string why{}, made_from{};
};

class Journal {
  public:
    explicit Journal(fs::path log) : log_(std::move(log)) {}
    // Once for each entry, whose `how` and names tell it from others.
    void add(const Entry& entry);
    void add_problem(std::string name, std::string why);
    void count_request();
    void count_fetched(std::uint64_t bytes);
    // Writes counts that are not in the log yet.
    void finish();
    [[nodiscard]] const Summary& summary() const { return summary_; }

  private:
    void write(nlohmann::json line);

    fs::path log_;
    Summary summary_;
    std::uint64_t new_requests_ = 0, new_bytes_ = 0;  // since the last line
    std::set<std::string> seen_;                      // SHA-256
    std::uint64_t bytes_ = 0;                         // of the log
};

// By all hubs that wrote to this log; lines that cannot be read are left out. Empty: there is none.
[[nodiscard]] std::optional<Summary> read_journal(const FileBelow& log);

}  // namespace compat::hub
