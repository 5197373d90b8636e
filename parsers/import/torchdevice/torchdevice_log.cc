#include "parsers/import/torchdevice/torchdevice_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "parsers/ending.h"
#include "parsers/import/torchdevice/torchdevice.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

struct ModuleLog {
    std::string path;
    std::string text;  // the line that tells how it ended
    std::optional<std::int64_t> return_code;
    double duration_s = 0;
    size_t offset = 0;
};

// "0", "-11"; nothing for other words.
std::optional<std::int64_t> signed_number(std::string_view text) {
    const bool negative = text.starts_with('-');
    const auto value = number_of(text.substr(negative ? 1 : 0));
    return value && negative ? std::optional(-*value) : value;
}

// The text after `mark`; nothing where the line has another beginning.
std::optional<std::string_view> after(std::string_view line, std::string_view mark) {
    if (!line.starts_with(mark)) return std::nullopt;
    return line.substr(mark.size());
}

// "tests.a.test_b - Status: FAILURE (RC: 1) Duration: 0:00:02.5".
std::optional<ModuleLog> finished_module(std::string_view text) {
    constexpr std::string_view kStatus = " - Status: ";
    constexpr std::string_view kCode = " (RC: ";
    constexpr std::string_view kDuration = ") Duration: ";
    const size_t status = text.find(kStatus);
    const size_t code = text.find(kCode, std::min(status, text.size()));
    const size_t duration = text.find(kDuration, std::min(code, text.size()));
    if (duration == std::string_view::npos) return std::nullopt;
    const size_t digits = code + kCode.size();
    ModuleLog module;
    module.return_code = signed_number(text.substr(digits, duration - digits));
    if (!module.return_code) return std::nullopt;
    module.path = torchdevice_path(text.substr(0, status));
    module.text = valid_utf8(text.substr(status + 3));
    module.duration_s = torchdevice_seconds(text.substr(duration + kDuration.size()));
    return module;
}

struct Total {
    std::string_view words;
    bool (*counts)(std::int64_t return_code);
};

constexpr std::array<Total, 4> kTotals{{
    {"Total test files processed: ", [](std::int64_t) { return true; }},
    {"Successful: ", [](std::int64_t code) { return code == 0; }},
    {"Failed (test failures): ", [](std::int64_t code) { return code > 0; }},
    {"Critical failures (script/execution errors): ", [](std::int64_t code) { return code < 0; }},
}};

// One run of the script.
class Run {
  public:
    Run(const SeePart& see, std::vector<Diagnostic>& diagnostics)
        : see_(see), diagnose_("log", diagnostics) {}

    void line(std::string_view line, size_t offset) {
        if (const auto text = after(line, "Finished test: ")) {
            auto module = finished_module(*text);
            if (!module) return diagnose_.add(offset, "a module's end of another form");
            finish(std::move(*module), offset);
        } else if (const auto found = after(line, "Found ")) {
            const size_t blank = std::min(found->find(' '), found->size());
            if (!found->substr(blank).starts_with(" test files to run")) return;
            announced_ = number_of(found->substr(0, blank));
            listing_ = true;
        } else if (const auto file = after(line, "  - "); file && listing_) {
            add(valid_utf8(*file), offset);
        } else if (const auto next = after(line, "Preparing to run test ")) {
            listing_ = false;
            if (next->find(": ") != std::string_view::npos) due_ = true;
        } else if (const auto module = after(line, "Module: ")) {
            summarized_ = torchdevice_path(*module);
        } else if (const auto status = after(line, "  Status: "); status && !summarized_.empty()) {
            summary(*status, offset);
        } else {
            for (size_t i = 0; i < kTotals.size(); ++i)
                if (const auto count = after(line, kTotals[i].words)) check(i, *count, offset);
        }
    }

    [[nodiscard]] bool has_begun() const { return announced_ || !modules_.empty(); }

    void close(size_t end) {
        if (announced_ && !listed_all())
            diagnose_.totals_differ(end, fmt::format("{} test files found, {} in the log",
                                                     *announced_, modules_.size()));
        for (const ModuleLog& module : modules_) see_(record_of(module));
    }

  private:
    [[nodiscard]] bool listed_all() const {
        return static_cast<std::int64_t>(modules_.size()) == *announced_;
    }

    size_t add(std::string path, size_t offset) {
        const auto [at, is_new] = by_path_.emplace(path, modules_.size());
        if (is_new) {
            ModuleLog& module = modules_.emplace_back();
            module.path = std::move(path);
            module.offset = offset;
        }
        return at->second;
    }

    void finish(ModuleLog module, size_t offset) {
        listing_ = due_ = false;
        module.offset = offset;
        const size_t at = add(module.path, offset);
        if (const auto former = modules_[at].return_code) {
            diagnose_.add(offset, module.path + " ended twice; its last end counts");
            count(*former, -1);
        }
        count(*module.return_code, 1);
        modules_[at] = std::move(module);
    }

    // "SUCCESS (Return Code: 0)" of the list at the end.
    void summary(std::string_view status, size_t offset) {
        constexpr std::string_view kCode = " (Return Code: ";
        const size_t code = status.find(kCode);
        const std::string path = std::move(summarized_);
        summarized_.clear();
        if (code == std::string_view::npos || !status.ends_with(')')) return;
        std::string_view digits = status.substr(code + kCode.size());
        digits.remove_suffix(1);
        const auto value = signed_number(digits);
        if (!value) return;
        ModuleLog& module = modules_[add(path, offset)];
        if (!module.return_code) {
            module.return_code = value;
            count(*value, 1);
            module.text = valid_utf8("Status: " + std::string(status));
        } else if (*module.return_code != *value) {
            diagnose_.add(offset, fmt::format("{} returned {}, and {} in the list at the end", path,
                                              *module.return_code, *value));
        }
    }

    void count(std::int64_t return_code, std::int64_t modules) {
        for (size_t i = 0; i < kTotals.size(); ++i)
            if (kTotals[i].counts(return_code)) counts_[i] += modules;
    }

    void check(size_t total, std::string_view text, size_t offset) {
        const auto theirs = number_of(trimmed(text));
        if (theirs && *theirs != counts_[total])
            diagnose_.totals_differ(offset,
                                    fmt::format("{}{} by its own total, {} by its modules",
                                                kTotals[total].words, *theirs, counts_[total]));
    }

    // The module that was under way is the first without an end.
    ModuleRecord record_of(const ModuleLog& module) {
        ModuleRecord record;
        record.path = module.path;
        record.framework = name_of(Framework::unittest);
        record.from_text = true;
        if (module.return_code) {
            record.closing = Closing{.text = module.text, .ran = {}, .counts = {}};
            set_torchdevice_outcome(record, *module.return_code, module.duration_s);
            return record;
        }
        ProcessEnd end;
        end.kind = due_ ? ProcessEnd::Kind::stopped : ProcessEnd::Kind::not_run;
        end.detail = due_ ? "the log breaks off while it runs" : "the log breaks off before it";
        due_ = false;
        settle(record, {}, {.ready = false, .finished = false, .fixture = {}, .last_end = {}}, end);
        return record;
    }

    const SeePart& see_;
    Diagnoser diagnose_;
    std::vector<ModuleLog> modules_;
    std::unordered_map<std::string, size_t> by_path_;
    std::array<std::int64_t, kTotals.size()> counts_{};  // of the modules that ended
    std::optional<std::int64_t> announced_;
    std::string summarized_;  // the module whose status comes next
    bool listing_ = false;
    bool due_ = false;  // one is under way
};

}  // namespace

std::vector<Diagnostic> read_torchdevice_log(const ForeignFile& file, const SeePart& see) {
    std::vector<Diagnostic> diagnostics;
    bool any = false;
    {
        std::optional<Run> run(std::in_place, see, diagnostics);
        for (Lines lines(file.bytes); lines.next();) {
            // Several runs may stand in one file.
            if (lines.line().starts_with("Target project repo: ") && run->has_begun()) {
                any = true;
                run->close(lines.offset());
                run.emplace(see, diagnostics);
            }
            run->line(lines.line(), lines.offset());
        }
        any = any || run->has_begun();
        run->close(file.bytes.size());
    }
    if (!any) diagnostics.push_back({"log", 0, "the file names no test module"});
    return diagnostics;
}

int torchdevice_log_likeness(std::string_view beginning, std::string_view end) {
    constexpr std::array<std::string_view, 8> kSigns{
        "Target project repo: ",    "Log directory for individual tests: ",
        "Overall run log file: ",   " test files to run:",
        "\nPreparing to run test ", "\nFinished test: ",
        " Test Run Summary ",       "\nTotal test files processed: "};
    const auto signs = std::count_if(kSigns.begin(), kSigns.end(), [&](const auto& sign) {
        return beginning.find(sign) != std::string_view::npos ||
               end.find(sign) != std::string_view::npos;
    });
    constexpr int kEnough = 4;
    return signs >= kEnough ? kCertain : static_cast<int>(signs);
}

}  // namespace compat::parsers
