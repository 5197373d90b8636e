// Repositories and addresses that one hub knows: those of its lock, and those that were generated
// in this run. Takes what a source gave, and writes the lock soon after it changed. For one thread
// at a time. Not for how either is found again (model.h), nor for answers (hub.cc).
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/hub/hub.h"
#include "runner/hub/server/journal.h"
#include "runner/hub/source/source.h"
#include "runner/hub/store/model.h"

namespace compat::hub {

class Known {
  public:
    Known(fs::path lock, bool records, Journal& journal)
        : lock_(std::move(lock)), records_(records), journal_(journal) {}

    // Reads the lock, if there is one. Errors: suite, io.
    [[nodiscard]] Expected<void> open();

    // Recorded ones go before generated ones.
    [[nodiscard]] Repository* find(Kind kind, std::string_view name, std::string_view revision);
    [[nodiscard]] const Address* find_address(const std::string& key) const;
    // In all revisions.
    [[nodiscard]] std::vector<const Repository*> entries_of(const Repository& repository) const;
    [[nodiscard]] bool is_recorded(Kind kind, std::string_view name) const;

    void add(const Need& need, Got& got);

    // Where it changed, and a moment ago.
    void write_soon();
    void write_last();

  private:
    void add_absent(const Need& need, const Got& got);
    void write();

    fs::path lock_;
    bool records_;
    Journal& journal_;  // of problems
    Catalog recorded_, made_;
    std::string on_disk_;  // which file it was
    bool is_older_ = false;
    std::chrono::steady_clock::time_point older_since_;
};

}  // namespace compat::hub
