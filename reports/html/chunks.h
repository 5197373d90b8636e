// The data of the HTML page, in named parts that it reads one by one: "summary", "index",
// "details-0", … (web/src/data.ts says what is in each). A page from disk carries them, a server
// sends them. Not for the page around them (page.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reports/renderer.h"

namespace compat::reports {

struct CompareView;  // compare/compare.h
struct PortingView;  // porting/porting.h

inline constexpr std::size_t kPartBytes = 256 << 10;     // a part of a list is closed at that size
inline constexpr std::size_t kSummaryBytes = 1'000'000;  // the summary is smaller
inline constexpr std::string_view kSummaryPart = "summary";

// Takes each part when it is complete, "summary" last: it names the others.
using PartSink = std::function<void(std::string_view name, std::string json)>;

// Copies of the suite's files, where links lead to copies (links.h).
struct CopiedSources {
    struct File {
        std::string path;  // relative to the suite's root
        std::string text;
    };
    struct LeftOut {
        std::string path, why;
    };
    std::string prefix;  // of those links, as "source/"; empty: links lead elsewhere
    std::vector<File> files;
    std::vector<LeftOut> left_out;
};
// Called once, after the last module.
using SourceReader = std::function<CopiedSources()>;

// The lines of a log that are about one test, or its last (runner/archive/log_excerpt.h).
struct LogExcerptView {
    std::uint64_t first_line = 0;
    std::vector<std::string> lines;
    bool about_test = false;
};
// Excerpts of one log, one for each of `tests`; or in words, why there is none.
using ExcerptReader = std::function<tl::expected<std::vector<LogExcerptView>, std::string>(
    const std::string& log, const std::vector<std::string>& tests)>;
// In a page; they go to the first tests that need attention.
inline constexpr std::size_t kMostExcerpts = 500;
inline constexpr std::size_t kMostIssueTexts = 10'000;

// Content of a run's page that is not in the model.
struct PageSources {
    SourceReader copies{};
    ExcerptReader excerpts{};  // called for each log of a module; empty: there are no logs
};

// Keeps `model`'s address. Keeps a few bytes of each test, and no more than one part of details.
[[nodiscard]] std::unique_ptr<Renderer> run_parts(const ReportModel& model, PageSources sources,
                                                  PartSink sink);
void compare_parts(const CompareView& view, const PartSink& sink);
void porting_parts(const PortingView& view, const PartSink& sink);

}  // namespace compat::reports
