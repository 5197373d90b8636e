#include "parsers/import/gtest/googletest_text.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_map>

#include "parsers/closing.h"
#include "parsers/ending.h"
#include "parsers/import/case_ids.h"
#include "parsers/import/doubt.h"
#include "parsers/import/gtest/googletest.h"
#include "parsers/import/gtest/googletest_line.h"
#include "parsers/import/lines.h"
#include "parsers/import/printed_end.h"
#include "parsers/last_words.h"
#include "parsers/text.h"
#include "parsers/unnamed.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using googletest::Event;
using googletest::event_of;
using googletest::is_end;
using googletest::Kind;

State state_after(Kind end) {
    if (end == Kind::ok) return State::passed;
    return end == Kind::failed ? State::failed : State::skipped;
}

// One run of one binary.
class Run {
  public:
    Run(std::string path, size_t begin) : begin_(begin) {
        record_.path = std::move(path);
        record_.framework = name_of(Framework::gtest);
        record_.from_text = true;
    }

    [[nodiscard]] bool has_begun() const { return header_ || closed_ || !record_.cases.empty(); }
    [[nodiscard]] bool has_header() const { return header_.has_value(); }
    [[nodiscard]] bool is_closed() const { return closed_.has_value(); }
    [[nodiscard]] bool is_running() const { return running_.has_value(); }
    [[nodiscard]] bool runs(std::string_view test) const {
        return running_ && record_.cases[*running_].name == test;
    }

    // What a test prints, or the lines of the totals.
    void print(std::string_view text) {
        constexpr size_t kMostOfInner = 1 << 20;  // where the test may have crashed long before
        if (!closed_ && (!inner_ || output_.size() < *inner_ + kMostOfInner))
            output_.append(text) += '\n';
        else if (closed_ && text.starts_with("["))
            closing_.append(text) += '\n';
    }

    // Another run, or another test, begins while a test runs: the test's output if the test still
    // ends. Else it crashed where a run began; what a single test would mean is not sure.
    void contain(Kind kind, size_t offset) {
        if (kind == Kind::header && !inner_) inner_ = output_.size();
        if (kind == Kind::run && !stray_) stray_ = offset;
    }

    // An event of its own: `text` is the rest of the line, at `offset`.
    void take(const Event& event, std::string_view text, size_t offset) {
        switch (event.kind) {
            case Kind::hidden:
                hidden_ = event.number;
                return;
            case Kind::disabled:
                set_googletest_disabled(record_.cases[add(event.name, Progress::ended)]);
                ++disabled_;
                return;
            case Kind::broken_suite:
                fixture(event.name, Phase::class_setup);
                return;
            case Kind::ok:
            case Kind::failed:
            case Kind::skipped:
                return end_test(event, offset);
            default:
                keep_outside();
        }
        if (event.kind == Kind::header) header_ = event.number;
        if (event.kind == Kind::run) running_ = add(event.name, Progress::started);
        if (event.kind == Kind::suite) suite_ = event.name;
        if (event.kind == Kind::suite) phase_ = Phase::class_setup;
        if (event.kind == Kind::leaving) suite_.clear();
        if (event.kind == Kind::leaving) phase_ = Phase::module_teardown;
        if (event.kind != Kind::closing) return;
        closed_ = offset;
        print(text);
    }

    ModuleRecord finish(bool more_follows, Unnamed::Room& room) {
        std::string last = output_.substr(0, inner_.value_or(output_.size()));
        if (running_)
            last.insert(0, fmt::format("[ RUN      ] {}\n", record_.cases[*running_].name));
        else if (!closed_)
            keep_outside();
        if (running_ && stray_) ambiguous(*stray_, "a test has no end, and others began after it");
        if (closed_) set_closing();
        if (of_nobody_ > 1)
            diagnose(begin_, fmt::format("{} failures are no named test's", of_nobody_));
        for (CaseRecord& row : fixtures_) {
            if (!row.failure) row.failure = googletest_failure({}, row.phase);
            row.id = ids_.unique(row.id);
            record_.cases.push_back(std::move(row));
            progress_.push_back(Progress::ended);
        }
        const auto pseudo = static_cast<std::int64_t>(fixtures_.size());
        add_unnamed(room);
        record_.collected = header_ ? *header_ + std::max(hidden_, disabled_) + pseudo
                                    : static_cast<std::int64_t>(record_.cases.size());
        const bool finished = closed_.has_value();
        const ProcessEnd how = finished ? ProcessEnd{ProcessEnd::Kind::stopped, 0, {}}
                                        : end_of_cut_log(last, more_follows);
        settle(record_, progress_,
               {.ready = header_ || finished, .finished = finished, .fixture = {}, .last_end = {}},
               how);
        if (!finished) add_last_words(record_, last, how);
        return std::move(record_);
    }

  private:
    void diagnose(size_t offset, std::string message) {
        record_.diagnostics.push_back(
            {"log", static_cast<std::int64_t>(offset), std::move(message)});
    }
    void ambiguous(size_t offset, std::string_view what) {
        record_.diagnostics.push_back(
            doubt(offset, what, "import the file of --gtest_output=xml instead"));
    }

    size_t add(std::string_view name, Progress progress) {
        CaseRecord& test = record_.cases.emplace_back();
        test.name = valid_utf8(name);
        test.id = ids_.unique(googletest_id(record_.path, name));
        test.started = true;
        progress_.push_back(progress);
        return by_name_[test.name] = record_.cases.size() - 1;
    }

    // The end of the test that runs; a second end after it, as a test may print such a line itself;
    // a line of the list after the closing; or all that brief output says of a test.
    void end_test(const Event& event, size_t offset) {
        const auto known = by_name_.find(valid_utf8(event.name));
        const bool is_new = known == by_name_.end();
        if (closed_) {
            const size_t i = is_new ? add(event.name, Progress::ended) : known->second;
            if (!is_new && record_.cases[i].state == state_after(event.kind)) return;
            if (!is_new) ambiguous(offset, "the list at the end has another result of a test");
            set_result(i, event, {});
        } else if (running_ || (!is_new && ended_ == known->second)) {
            const size_t i = running_ ? *running_ : *ended_;
            set_result(i, event, googletest_parts(output_));
            progress_[i] = Progress::ended;
            ended_ = i;
            outside_from_ = output_.size();
            running_.reset();
            inner_.reset();
            stray_.reset();
        } else if (header_ && !is_new) {
            ambiguous(offset, "a test ends that does not run");
        } else {
            end_unbegun(event);
        }
    }

    void set_result(size_t i, const Event& event, std::vector<GoogletestPart> parts) {
        CaseRecord& test = record_.cases[i];
        if (event.number > 0) test.duration_s = static_cast<double>(event.number) / 1000;
        set_googletest_result(test, state_after(event.kind), std::move(parts));
        if (test.state != State::skipped || !test.reason.empty()) return;
        // GoogleTest skips without a word what its suite's set-up, or that of all, broke.
        for (const std::string& name : {std::string("<Environment>"), fixture_name(suite_)})
            if (const auto at = fixture_by_name_.find(name);
                at != fixture_by_name_.end() && fixtures_[at->second].failure)
                test.reason = "the set-up failed: " + fixtures_[at->second].failure->message;
    }

    // What stands before a test's end in brief output is of all tests since the last that failed.
    // One that skipped is none of its own.
    void end_unbegun(const Event& event) {
        std::vector<GoogletestPart> parts = googletest_parts(output_);
        const auto skip = std::find_if(parts.rbegin(), parts.rend(),
                                       [](const GoogletestPart& part) { return part.skipped; });
        keep_nobodys({parts.begin(), skip.base()});
        parts.erase(parts.begin(), skip.base());
        output_.clear();
        ended_.reset();
        set_result(add(event.name, Progress::ended), event, std::move(parts));
    }

    // What was printed outside of tests: failures of fixtures.
    void keep_outside() {
        auto parts = googletest_parts(std::string_view(output_).substr(ended_ ? outside_from_ : 0));
        output_.clear();
        ended_.reset();
        if (!header_) return keep_nobodys(parts);
        for (GoogletestPart& part : parts) {
            if (part.skipped) continue;
            CaseRecord& row = fixture(suite_, phase_);
            Failure failure = googletest_failure(std::move(part), phase_);
            if (row.failure)
                row.also.push_back(std::move(failure));
            else
                row.failure = std::move(failure);
        }
    }

    void keep_nobodys(const std::vector<GoogletestPart>& parts) {
        for (const GoogletestPart& part : parts)
            if (!part.skipped && ++of_nobody_ == 1)
                diagnose(begin_, "a failure that is no named test's: " + part.words);
    }

    static std::string fixture_name(std::string_view suite) {
        return googletest_fixture("", suite, Phase::class_setup, {}).name;
    }

    CaseRecord& fixture(std::string_view suite, Phase phase) {
        CaseRecord row = googletest_fixture(record_.path, suite, phase, {});
        const auto [at, is_new] = fixture_by_name_.emplace(row.name, fixtures_.size());
        if (!is_new) return fixtures_[at->second];
        row.failure.reset();
        return fixtures_.emplace_back(std::move(row));
    }

    // The run's own totals. What failed is counted by what is left where no line does.
    void set_closing() {
        auto found = find_closing(closing_, name_of(Framework::gtest));
        if (!found) return;
        std::int64_t rest = found->closing.ran.value_or(0);
        for (const auto& [word, count] : found->closing.counts) rest -= std::min(count, rest);
        if (rest > 0) found->closing.counts.emplace_back("failed", rest);
        record_.closing = std::move(found->closing);
    }

    void add_unnamed(Unnamed::Room& room) {
        Unnamed unnamed(record_, room);
        const auto add = [&](std::int64_t count, const CaseRecord& like, Progress progress) {
            unnamed.add(record_.path, count, like);
            progress_.resize(record_.cases.size(), progress);
        };
        const auto begun = [&](auto is_it) {
            return std::count_if(record_.cases.begin(), record_.cases.end(),
                                 [&](const CaseRecord& c) { return c.started && is_it(c); });
        };
        const auto all_begun = begun([](const CaseRecord&) { return true; });
        if (header_ && record_.closing && all_begun == 0) {
            add(*header_, never_begun(), Progress::ended);
        } else if (record_.closing) {
            for (const auto& [word, count] : record_.closing->counts) {
                CaseRecord like;
                like.state = state_of(word).value_or(State::not_run);
                like.started = true;
                if (like.state == State::failed) like.failure = googletest_failure({}, like.phase);
                const auto named =
                    begun([&](const CaseRecord& c) { return c.state == like.state; });
                add(count - named, like, Progress::ended);
            }
        } else if (header_) {
            add(*header_ - all_begun, CaseRecord{}, Progress::announced);
        }
        CaseRecord off;
        set_googletest_disabled(off);
        add(hidden_ - disabled_, off, Progress::ended);
        unnamed.tell(closed_.value_or(begin_));
    }

    // A test that a global set-up kept from beginning: GoogleTest counts it as passed.
    [[nodiscard]] CaseRecord never_begun() const {
        CaseRecord like;
        like.phase = Phase::module_setup;
        like.state = State::skipped;
        like.reason = "none of the tests was begun";
        for (const CaseRecord& row : record_.cases)
            if (row.phase == Phase::module_setup) {
                like.state = State::errored;
                like.failure = row.failure;
            }
        return like;
    }

    ModuleRecord record_;
    std::vector<Progress> progress_;
    std::unordered_map<std::string, size_t> by_name_;
    CaseIds ids_;
    std::vector<CaseRecord> fixtures_;  // rows for what failed outside of tests
    std::unordered_map<std::string, size_t> fixture_by_name_;
    std::string suite_;
    Phase phase_ = Phase::module_setup;
    std::string output_;  // since the last event
    size_t begin_;
    std::optional<size_t> running_, ended_;  // the test that runs, and the one that ended last
    size_t outside_from_ = 0;                // in the output, where that of the latter is over
    std::optional<size_t> inner_;            // in the output, where a run began in the test
    std::optional<size_t> stray_;            // where another test began in the one that runs
    std::optional<std::int64_t> header_;
    std::optional<size_t> closed_;
    std::string closing_;  // the lines of its totals
    std::int64_t hidden_ = 0, disabled_ = 0, of_nobody_ = 0;
};

// Hands runs on as soon as it is sure that no test's output holds them: all but the last of `runs_`
// have a test that has not ended.
class TextReader {
  public:
    TextReader(const ForeignFile& file, const SeePart& see) : file_(file), see_(see) {}

    void read() {
        for (LogLines lines(file_.bytes); lines.next();) {
            const Event event = event_of(lines.line());
            if (event.kind == Kind::output)
                print(lines.line());
            else
                step(event, lines.line(), lines.offset());
        }
        hand_on(/*more_follows=*/false);
    }

  private:
    struct Pending {
        Run run;
        int binary;
    };

    void print(std::string_view line) {
        for (Pending& pending : runs_)
            if (pending.run.is_running() || &pending == &runs_.back()) pending.run.print(line);
    }

    void step(const Event& event, std::string_view line, size_t offset) {
        if (is_end(event.kind)) leave_inner_runs(event.name);
        if (!runs_.empty() && runs_.back().run.is_running() &&
            !(is_end(event.kind) && runs_.back().run.runs(event.name))) {
            runs_.back().run.contain(event.kind, offset);
            if (event.kind != Kind::header) return print(line);
        }
        if (runs_.empty() || is_of_another_run(event))
            open(offset,
                 event.kind == Kind::repeating ? event.number > 1 : is_next_iteration(event));
        Run& last = runs_.back().run;
        for (Pending& pending : runs_)
            if (pending.run.is_running() && &pending.run != &last) pending.run.print(line);
        if (event.begin > 0) last.print(line.substr(0, event.begin));
        last.take(event, line.substr(event.begin), offset + event.begin);
    }

    // What was read since the test began is its output.
    void leave_inner_runs(std::string_view test) {
        const auto outer = std::find_if(runs_.rbegin(), runs_.rend(),
                                        [&](const Pending& p) { return p.run.runs(test); });
        if (outer == runs_.rend()) return;
        runs_.erase(outer.base(), runs_.end());
        binaries_ = runs_.back().binary;
    }

    // Brief output has no headers and lists nothing after its closing: more is the next
    // iteration's.
    [[nodiscard]] bool is_next_iteration(const Event& event) const {
        if (runs_.empty() || !runs_.back().run.is_closed() || runs_.back().run.has_header())
            return false;
        return event.kind == Kind::closing || is_end(event.kind);
    }

    [[nodiscard]] bool is_of_another_run(const Event& event) const {
        const Run& run = runs_.back().run;
        if (event.kind == Kind::header || event.kind == Kind::repeating) return run.has_begun();
        const bool begins = event.kind == Kind::main || event.kind == Kind::run ||
                            event.kind == Kind::closing || is_next_iteration(event);
        return begins && run.is_closed();
    }

    void open(size_t offset, bool same_binary) {
        if (!runs_.empty() && !runs_.front().run.is_running()) hand_on(/*more_follows=*/true);
        if (!same_binary || binaries_ == 0) ++binaries_;
        std::string path(stem_of(file_.name));
        if (binaries_ > 1) path += fmt::format("#{}", binaries_);
        runs_.push_back({Run(valid_utf8(path), offset), binaries_});
    }

    void hand_on(bool more_follows) {
        for (size_t i = 0; i < runs_.size(); ++i)
            see_(runs_[i].run.finish(more_follows || i + 1 < runs_.size(), room_));
        runs_.clear();
    }

    const ForeignFile& file_;
    const SeePart& see_;
    Unnamed::Room room_;
    std::deque<Pending> runs_;
    int binaries_ = 0;
};

// CTest's text holds that of GoogleTest with a number before each line, or parts of it.
bool begins_as_ctest(std::string_view beginning) {
    static const RE2 kCtest(
        R"(\d+: (?:Test command: |\[[ =-]).*|\s*\d+/\d+ Test +#.*|    +Start +\d+: .*)",
        RE2::Latin1);
    for (LogLines lines(beginning); lines.next();) {
        if (RE2::FullMatch({lines.line().data(), lines.line().size()}, kCtest)) return true;
        if (googletest::begins_with_mark(lines.line())) return false;
    }
    return false;
}

}  // namespace

std::vector<Diagnostic> read_googletest_text(const ForeignFile& file, const SeePart& see) {
    TextReader(file, see).read();
    return {};
}

int googletest_text_likeness(std::string_view beginning, std::string_view end) {
    if (begins_as_ctest(beginning)) return 0;
    constexpr std::array<std::string_view, 8> kSigns{
        "[==========] ", "[----------] ", "[ RUN      ] ", "[       OK ] ",
        "[  PASSED  ] ", "[  FAILED  ] ", "[  SKIPPED ] ", "Running main() from "};
    const auto signs = std::count_if(kSigns.begin(), kSigns.end(), [&](const auto& sign) {
        return beginning.find(sign) != std::string_view::npos ||
               end.find(sign) != std::string_view::npos;
    });
    return 10 * static_cast<int>(signs);
}

}  // namespace compat::parsers
