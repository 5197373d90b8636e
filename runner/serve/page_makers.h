// Makes the pages of a server from the store and the runs' folders: each call opens the database
// for reading, so that it sees what runs have written by then and blocks none of them. Writes
// nothing: a source line that a run has no copy of yet gets no link. Not for addresses (pages.h)
// nor for keeping pages (page_cache.h).
#pragma once

#include <string>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/serve/page_cache.h"
#include "runner/store/store.h"

namespace compat::serve {

inline constexpr std::size_t kListedRuns = 1000;    // of the list of runs, the newest
inline constexpr std::size_t kListedResults = 500;  // of a test, the newest

// Makes pages of the results in a folder. Errors: usage, for an unknown run or test; those of the
// store.
class PageMakers {
  public:
    explicit PageMakers(fs::path results) : results_(std::move(results)) {}

    [[nodiscard]] Expected<MadePage> runs() const;
    // Redirects from other names of a run: a prefix of its id, "latest".
    [[nodiscard]] Expected<MadePage> run(const std::string& name) const;
    [[nodiscard]] Expected<MadePage> comparison(const std::string& baseline,
                                                const std::string& run) const;
    [[nodiscard]] Expected<MadePage> test(const std::string& id) const;
    [[nodiscard]] Expected<MadePage> gap_log() const;
    // A page of the site (runner/site): `name` is its file, as `runner site` writes it.
    [[nodiscard]] Expected<MadePage> site(const std::string& name) const;

    // The folder of a run. Errors: usage, for an unknown one.
    [[nodiscard]] Expected<fs::path> folder_of(const std::string& run) const;

  private:
    [[nodiscard]] Expected<store::Store> open() const;

    fs::path results_;
};

// "/runs/ID/", "/compare/A/B/", "/tests/ID/"
[[nodiscard]] std::string run_address(std::string_view run);
[[nodiscard]] std::string comparison_address(std::string_view baseline, std::string_view run);
[[nodiscard]] std::string test_address(std::string_view test);

}  // namespace compat::serve
