#include "parsers/import/torchdevice/torchdevice_log.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "parsers/ending.h"
#include "parsers/import/torchdevice/torchdevice.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kFirstLine = "Target project repo: ";

struct ModuleEnd {
    std::string path;
    std::string text;  // the line that tells how it ended
    std::optional<std::int64_t> return_code;
    double duration_s = 0;
};

struct LogTotal {
    std::string_view words;
    bool (*counts)(std::int64_t return_code);
};
constexpr std::array<LogTotal, 4> kLogTotals{{
    {"Total test files processed: ", [](std::int64_t) { return true; }},
    {"Successful: ", [](std::int64_t code) { return code == 0; }},
    {"Failed (test failures): ", [](std::int64_t code) { return code > 0; }},
    {"Critical failures (script/execution errors): ", [](std::int64_t code) { return code < 0; }},
}};

// One run of the script.
class ScriptRun {
  public:
    explicit ScriptRun(Diagnoser& diagnose) : diagnose_(diagnose) {}

    void line(std::string_view line, size_t offset) {
        static const RE2 kFinished(
            R"(Finished test: (.*?) - (Status: .* \(RC: (-?\d+)\) Duration: (.*)))", RE2::Latin1);
        static const RE2 kFound(R"(Found (\d+) test files to run.*)", RE2::Latin1);
        static const RE2 kListed("  - (.*)", RE2::Latin1);
        static const RE2 kPreparing("Preparing to run test .*: .*", RE2::Latin1);
        static const RE2 kModule("Module: (.*)", RE2::Latin1);
        static const RE2 kStatus(R"(  (Status: .* \(Return Code: (-?\d+)\)))", RE2::Latin1);
        const re2::StringPiece text(line.data(), line.size());
        std::string name, how, code, duration;
        if (RE2::FullMatch(text, kFinished, &name, &how, &code, &duration)) {
            due_ = false;
            end(torchdevice_module(name).path, how, code, torchdevice_seconds(duration), offset);
        } else if (line.starts_with("Finished test: ")) {
            diagnose_.add(offset, "a module's end of another form");
        } else if (RE2::FullMatch(text, kFound, &name)) {
            announced_ = number_of(name);
        } else if (announced_ && RE2::FullMatch(text, kListed, &name)) {
            module(valid_utf8(name));
        } else if (RE2::FullMatch(text, kPreparing)) {
            due_ = true;
        } else if (RE2::FullMatch(text, kModule, &name)) {
            summarized_ = torchdevice_module(name).path;
        } else if (!summarized_.empty() && RE2::FullMatch(text, kStatus, &how, &code)) {
            if (!module(summarized_).return_code) end(summarized_, how, code, 0, offset);
        } else {
            check_total(line, offset);
        }
    }

    [[nodiscard]] bool has_begun() const { return announced_ || !modules_.empty(); }

    void close(size_t offset, const SeePart& see) {
        const auto known = static_cast<std::int64_t>(modules_.size());
        if (announced_ && *announced_ != known)
            diagnose_.totals_differ(
                offset, fmt::format("{} test files found, {} in the log", *announced_, known));
        for (const ModuleEnd& module : modules_) see(record_of(module));
    }

  private:
    ModuleEnd& module(const std::string& path) {
        const auto [at, is_new] = by_path_.emplace(path, modules_.size());
        if (is_new) modules_.push_back({path, {}, {}, 0});
        return modules_[at->second];
    }

    void end(const std::string& path, std::string_view how, std::string_view code, double seconds,
             size_t offset) {
        ModuleEnd& ended = module(path);
        if (ended.return_code) diagnose_.add(offset, path + " ended twice; its last end counts");
        ended.return_code = torchdevice_code(code);
        ended.text = valid_utf8(how);
        ended.duration_s = seconds;
    }

    void check_total(std::string_view line, size_t offset) {
        for (const LogTotal& total : kLogTotals) {
            if (!line.starts_with(total.words)) continue;
            const auto ours =
                std::count_if(modules_.begin(), modules_.end(), [&](const ModuleEnd& module) {
                    return module.return_code && total.counts(*module.return_code);
                });
            const auto theirs = number_of(trimmed(line.substr(total.words.size())));
            if (theirs && *theirs != ours)
                diagnose_.totals_differ(
                    offset, fmt::format("{}{} by its own total, {} by its modules", total.words,
                                        *theirs, ours));
        }
    }

    // The module that was under way is the first without an end.
    ModuleRecord record_of(const ModuleEnd& module) {
        ModuleRecord record = torchdevice_module("");
        record.path = module.path;
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

    Diagnoser& diagnose_;
    std::vector<ModuleEnd> modules_;
    std::unordered_map<std::string, size_t> by_path_;
    std::optional<std::int64_t> announced_;
    std::string summarized_;  // the module whose status comes next
    bool due_ = false;        // one is under way
};

}  // namespace

std::vector<Diagnostic> read_torchdevice_log(const ForeignFile& file, const SeePart& see) {
    std::vector<Diagnostic> diagnostics;
    Diagnoser diagnose("log", diagnostics);
    bool any = false;
    std::optional<ScriptRun> run(std::in_place, diagnose);
    for (Lines lines(file.bytes); lines.next();) {
        if (lines.line().starts_with(kFirstLine) && run->has_begun()) {
            any = true;
            run->close(lines.offset(), see);
            run.emplace(diagnose);
        }
        run->line(lines.line(), lines.offset());
    }
    if (!any && !run->has_begun()) diagnose.add(0, "the file names no test module");
    run->close(file.bytes.size(), see);
    return diagnostics;
}

int torchdevice_log_likeness(std::string_view beginning, std::string_view end) {
    constexpr std::array<std::string_view, 7> kSigns{kFirstLine,
                                                     "Log directory for individual tests: ",
                                                     "Overall run log file: ",
                                                     " test files to run:",
                                                     "\nPreparing to run test ",
                                                     "\nFinished test: ",
                                                     "\nTotal test files processed: "};
    const auto signs = std::count_if(kSigns.begin(), kSigns.end(), [&](std::string_view sign) {
        return beginning.find(sign) != std::string_view::npos ||
               end.find(sign) != std::string_view::npos;
    });
    return signs >= 4 ? kCertain : static_cast<int>(signs);
}

}  // namespace compat::parsers
