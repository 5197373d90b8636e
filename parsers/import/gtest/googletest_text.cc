// The text of GoogleTest binaries: each line is an event, a run's events are folded into its cases.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

#include "parsers/crash_excerpt.h"
#include "parsers/framework_summary.h"
#include "parsers/import/case_table.h"
#include "parsers/import/doubt.h"
#include "parsers/import/fields.h"
#include "parsers/import/gtest/googletest.h"
#include "parsers/import/lines.h"
#include "parsers/import/printed_end.h"
#include "parsers/resolve_unfinished.h"
#include "parsers/text.h"
#include "parsers/unnamed.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

enum class Kind {
    output,
    header,
    closing,
    suite,
    leaving,
    run,
    end,
    broken_suite,
    disabled,
    main,
    repeating,
    hidden
};

struct Event {
    Kind kind = Kind::output;
    State state = State::not_run;  // of an end
    size_t begin = 0;              // what stands before it in the line is output of a test
    std::string_view name;         // of the test or suite
    std::int64_t number = 0;       // of header, hidden and repeating; of an end its milliseconds
};

// How GoogleTest writes an event: a mark, and what follows, in which the groups are a name and a
// number. The first of a mark that matches counts.
struct Form {
    Kind kind;
    std::string_view mark;
    RE2 rest;
    State state = State::not_run;
};
#define COMPAT_TEST R"(([^. ][^ .]*\.[^ ]+))"
#define COMPAT_END COMPAT_TEST R"((?:, where .*?)?(?: \((\d+) ms\))?)"
const std::array<Form, 13>& forms() {
    using enum Kind;
    constexpr auto kBytes = RE2::Latin1;
    static const std::array<Form, 13> kForms{{
        {header, "[==========] ", {R"(()Running (\d+) tests? from .*)", kBytes}},
        {closing, "[==========] ", {R"(()(\d+) tests? from .* ran\..*)", kBytes}},
        {leaving, "[----------] ", {"()()Global test environment tear-down", kBytes}},
        {suite,
         "[----------] ",
         {R"(\d+ tests? from (.*?)()(?:, where .*| \(\d+ ms total\))?)", kBytes}},
        {run, "[ RUN      ] ", {COMPAT_TEST "()", kBytes}},
        {end, "[       OK ] ", {COMPAT_END, kBytes}, State::passed},
        {broken_suite, "[  FAILED  ] ", {"(.*)(): SetUpTestSuite or TearDownTestSuite", kBytes}},
        {end, "[  FAILED  ] ", {COMPAT_END, kBytes}, State::failed},
        {end, "[  SKIPPED ] ", {COMPAT_END, kBytes}, State::skipped},
        {disabled, "[ DISABLED ] ", {COMPAT_TEST "()", kBytes}},
        {main, "Running main() from ", {"()().*", kBytes}},
        {repeating, "Repeating all tests ", {R"(()\(iteration (\d+)\).*)", kBytes}},
        {hidden, "  YOU HAVE ", {R"(()(\d+) DISABLED TEST.*)", kBytes}},
    }};
    return kForms;
}
#undef COMPAT_TEST
#undef COMPAT_END

// The last event in the line, as what a test prints without a newline stands before GoogleTest's
// own words. The name points into the line.
Event event_of(std::string_view line) {
    Event last;
    for (const Form& form : forms()) {
        // From the front first, as that is quick and most lines have few marks.
        const size_t first = line.find(form.mark);
        if (first == line.npos || (first > 0 && form.mark[0] != '[')) continue;
        const size_t at = line.rfind(form.mark);
        if (last.kind != Kind::output && at <= last.begin) continue;
        const std::string_view rest = trimmed(line.substr(at + form.mark.size()));
        re2::StringPiece name, digits;
        if (!RE2::FullMatch({rest.data(), rest.size()}, form.rest, &name, &digits)) continue;
        const std::int64_t number =
            number_of({digits.data(), digits.size()}).value_or(digits.empty() ? 0 : kGreatestCount);
        last = {form.kind,
                form.state,
                at,
                {name.data(), name.size()},
                std::min(number, kGreatestCount)};
    }
    return last;
}

// Ends of one test, and runs within one another's tests: more than that no test prints.
constexpr int kMostEnds = 16;
constexpr size_t kDeepestRun = 16;

// One run of one binary.
class Run {
  public:
    Run(const ResultFile& file, int binary, size_t begin) : binary_(binary), begin_(begin) {
        record_.path = stem_of(file.name);
        if (binary > 1) record_.path += fmt::format("#{}", binary);
        record_.framework = name_of(Framework::gtest);
        record_.from_text = true;
    }

    [[nodiscard]] int binary() const { return binary_; }
    [[nodiscard]] bool has_begun() const { return header_ || closed_ || !record_.cases.empty(); }
    [[nodiscard]] bool is_brief() const { return !header_; }
    [[nodiscard]] bool is_closed() const { return closed_.has_value(); }
    [[nodiscard]] bool is_running() const { return running_.has_value(); }
    [[nodiscard]] bool runs(std::string_view test) const {
        return running_ && record_.cases[*running_].name == test;
    }

    // Takes a test's output, or the lines of the totals.
    void print(std::string_view text) {
        if (!closed_)
            output_.append(text) += '\n';
        else if (text.starts_with("["))
            closing_.append(text) += '\n';
    }

    // While a test runs, all but its own end is its output, if it still ends.
    void take(const Event& event, std::string_view line, size_t offset) {
        if (running_ && !(event.kind == Kind::end && runs(event.name))) {
            if (event.kind == Kind::run && !stray_) stray_ = offset;
            return print(line);
        }
        if (event.begin > 0) print(line.substr(0, event.begin));
        offset += event.begin;
        if (event.kind == Kind::end) return end_test(event, offset);
        if (event.kind == Kind::disabled) {
            set_googletest_disabled(record_.cases[add(event.name)]);
            ++disabled_;
        } else if (event.kind == Kind::broken_suite) {
            fixtures_[std::string(event.name)];
        } else if (event.kind == Kind::hidden) {
            hidden_ = event.number;
        } else {
            keep_outside();
        }
        if (event.kind == Kind::header) header_ = event.number;
        if (event.kind == Kind::run) running_ = add(event.name);
        if (event.kind == Kind::suite) suite_ = event.name;
        if (event.kind == Kind::leaving) suite_.clear();
        if (event.kind == Kind::leaving && !fixtures_.contains(""))
            of_environment_ = Phase::module_teardown;
        if (event.kind == Kind::closing) closed_ = offset;
        if (event.kind == Kind::closing) print(line.substr(event.begin));
    }

    ModuleRecord finish(bool more_follows, Unnamed::Room& room) {
        std::string last = output_;
        if (running_)
            last.insert(0, fmt::format("[ RUN      ] {}\n", record_.cases[*running_].name));
        else if (!closed_)
            keep_outside();
        if (running_ && stray_) ambiguous(*stray_, "a test has no end, and others began after it");
        if (closed_) set_closing();
        if (of_nobody_ > 0)
            record_.diagnostics.push_back(
                {"log", static_cast<std::int64_t>(begin_),
                 fmt::format("failures that are no named test's: {}, the first: {}", of_nobody_,
                             first_of_nobody_)});
        for (auto& [suite, failures] : fixtures_) {
            CaseRecord row = googletest_fixture(suite, std::move(failures), of_environment_);
            row.id = fmt::format("{}::{}", record_.path, row.name);
            record_.cases.push_back(std::move(row));
        }
        number_repeated_ids(record_.cases);
        std::vector<Progress> progress(record_.cases.size(), Progress::ended);
        if (running_) progress[*running_] = Progress::started;
        add_unnamed(room);
        progress.resize(record_.cases.size(),
                        record_.closing ? Progress::ended : Progress::announced);
        record_.collected =
            static_cast<std::int64_t>(header_ ? fixtures_.size() : record_.cases.size());
        if (header_) record_.collected += *header_ + std::max(hidden_, disabled_);
        const bool finished = closed_.has_value();
        const ProcessEnd how = finished ? ProcessEnd{ProcessEnd::Kind::stopped, 0, {}}
                                        : end_of_cut_log(last, more_follows);
        resolve_unfinished(
            record_, progress,
            {.ready = header_ || finished, .finished = finished, .fixture = {}, .last_end = {}},
            how);
        if (!finished) add_crash_excerpts(record_, last, how);
        return std::move(record_);
    }

  private:
    void ambiguous(size_t offset, std::string_view what) {
        add_doubt(record_, offset, what, "import the file of --gtest_output=xml instead");
    }

    size_t add(std::string_view name) {
        CaseRecord& test = record_.cases.emplace_back();
        test.name = valid_utf8(name);
        std::string id = test.name;
        if (const size_t dot = id.find('.'); dot != std::string::npos) id.replace(dot, 1, "::");
        test.id = fmt::format("{}::{}", record_.path, id);
        test.started = true;
        return by_name_[test.name] = record_.cases.size() - 1;
    }

    // The end of the test that runs; a second end after it, as a test may print such a line itself;
    // a line of the list after the closing; or all that brief output says of a test.
    void end_test(const Event& event, size_t offset) {
        const auto known = by_name_.find(valid_utf8(event.name));
        const bool is_new = known == by_name_.end();
        if (closed_) {
            const size_t i = is_new ? add(event.name) : known->second;
            if (!is_new && record_.cases[i].state == event.state) return;
            if (!is_new) ambiguous(offset, "the list at the end has another result of a test");
            set_result(i, event, {});
        } else if (running_ || (!is_new && ended_ == known->second && ends_ < kMostEnds)) {
            ends_ = running_ ? 1 : ends_ + 1;
            ended_ = running_ ? running_ : ended_;
            set_result(*ended_, event, googletest_failures(output_));
            outside_from_ = output_.size();
            running_.reset();
            stray_.reset();
        } else if (header_ && !is_new) {
            ambiguous(offset, "a test ends that does not run");
        } else {
            end_unbegun(event);
        }
    }

    void set_result(size_t i, const Event& event, std::vector<Failure> failures) {
        CaseRecord& test = record_.cases[i];
        if (event.number > 0) test.duration_s = static_cast<double>(event.number) / 1000;
        set_googletest_result(test, event.state, std::move(failures));
        if (test.state != State::skipped || !test.reason.empty()) return;
        // GoogleTest skips without a word what its suite's set-up, or that of all, broke.
        for (const std::string& suite : {std::string(), suite_})
            if (const auto broken = fixtures_.find(suite);
                broken != fixtures_.end() && !broken->second.empty())
                test.reason = "the set-up failed: " + broken->second.front().message;
    }

    // Text before a test's end in brief output is of all tests since the last that failed.
    // One that skipped is none of its own.
    void end_unbegun(const Event& event) {
        std::vector<Failure> failures = take_failures();
        const auto skip = std::find_if(failures.rbegin(), failures.rend(),
                                       [](const Failure& f) { return f.type == "Skipped"; });
        keep_nobodys({failures.begin(), skip.base()});
        failures.erase(failures.begin(), skip.base());
        set_result(add(event.name), event, std::move(failures));
    }

    // Those that were printed since the last test ended.
    std::vector<Failure> take_failures() {
        auto failures = googletest_failures(std::string_view(output_).substr(outside_from_));
        output_.clear();
        ended_.reset();
        outside_from_ = 0;
        return failures;
    }

    // Keeps failures that were printed outside of tests: those of fixtures.
    void keep_outside() {
        std::vector<Failure> failures = take_failures();
        if (!header_) return keep_nobodys(failures);
        std::erase_if(failures, [](const Failure& f) { return f.type == "Skipped"; });
        if (failures.empty()) return;
        std::vector<Failure>& all = fixtures_[suite_];
        std::move(failures.begin(), failures.end(), std::back_inserter(all));
    }

    void keep_nobodys(const std::vector<Failure>& failures) {
        for (const Failure& failure : failures)
            if (failure.type != "Skipped" && ++of_nobody_ == 1) first_of_nobody_ = failure.message;
    }

    // The run's own totals. What failed is counted by what is left where no line does.
    void set_closing() {
        auto found = find_summary(closing_, name_of(Framework::gtest));
        if (!found) return;
        std::int64_t rest = found->summary.ran.value_or(0);
        for (const auto& [word, count] : found->summary.counts) rest -= std::min(count, rest);
        if (rest > 0) found->summary.counts.emplace_back("failed", rest);
        record_.closing = std::move(found->summary);
    }

    void add_unnamed(Unnamed::Room& room) {
        // Iterations run the same tests.
        room.last_number.erase(record_.path);
        Unnamed unnamed(record_, room);
        std::map<State, std::int64_t> begun;
        std::int64_t unbegun = header_.value_or(0);
        for (const CaseRecord& c : record_.cases)
            if (c.started) ++begun[c.state], --unbegun;
        if (header_ && record_.closing && unbegun == *header_) {
            unnamed.add(record_.path, unbegun, never_begun());
        } else if (record_.closing) {
            for (const auto& [word, count] : record_.closing->counts) {
                CaseRecord like;
                set_googletest_result(like, state_of(word).value_or(State::not_run), {});
                like.started = true;
                unnamed.add(record_.path, count - begun[like.state], like);
            }
        } else {
            unnamed.add(record_.path, unbegun, CaseRecord{});
        }
        CaseRecord off;
        set_googletest_disabled(off);
        unnamed.add(record_.path, hidden_ - disabled_, off);
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

    int binary_;
    size_t begin_;
    ModuleRecord record_;
    std::unordered_map<std::string, size_t> by_name_;
    std::map<std::string, std::vector<Failure>> fixtures_;  // by suite; of all of them: ""
    Phase of_environment_ = Phase::module_setup;
    std::string suite_;
    std::string output_;                     // since the last event
    std::optional<size_t> running_, ended_;  // the test that runs, and the one that ended last
    int ends_ = 0;                           // of the latter
    size_t outside_from_ = 0;                // in the output, where that of the latter is over
    std::optional<size_t> stray_;            // where another test began in the one that runs
    std::optional<std::int64_t> header_;
    std::optional<size_t> closed_;
    std::string closing_;  // the lines of its totals
    std::string first_of_nobody_;
    std::int64_t hidden_ = 0, disabled_ = 0, of_nobody_ = 0;
};

// The file's runs. Where one begins in a test of another, the test prints it if the test still
// ends; else it had crashed. Until that is sure, `runs_` has both.
class TextReader {
  public:
    TextReader(const ResultFile& file, const SeePart& see) : file_(file), see_(see) {}

    void read() {
        for (LogLines lines(file_.bytes); lines.next();) {
            const Event event = event_of(lines.line());
            if (event.kind != Kind::output)
                step(event, lines.line(), lines.offset());
            else if (!runs_.empty())
                runs_.back().print(lines.line());
        }
        hand_on(/*more_follows=*/false);
    }

  private:
    void step(const Event& event, std::string_view line, size_t offset) {
        const auto outer = std::find_if(runs_.rbegin(), runs_.rend(), [&](const Run& run) {
            return event.kind == Kind::end && run.runs(event.name);
        });
        if (outer != runs_.rend()) runs_.erase(outer.base(), runs_.end());
        if (runs_.empty() || is_of_another_run(event)) open(event, offset);
        runs_.back().take(event, line, offset);
    }

    // Brief output has no headers and lists nothing after its closing: more is the next
    // iteration's.
    [[nodiscard]] bool is_next_iteration(const Event& event) const {
        if (event.kind == Kind::repeating) return event.number > 1;
        return !runs_.empty() && runs_.back().is_closed() && runs_.back().is_brief() &&
               (event.kind == Kind::closing || event.kind == Kind::end);
    }

    [[nodiscard]] bool is_of_another_run(const Event& event) const {
        const Run& run = runs_.back();
        if (event.kind == Kind::header || event.kind == Kind::repeating) return run.has_begun();
        return run.is_closed() && (event.kind == Kind::main || event.kind == Kind::run ||
                                   event.kind == Kind::closing || is_next_iteration(event));
    }

    void open(const Event& event, size_t offset) {
        const bool same = is_next_iteration(event);
        if (!runs_.empty()) binaries_ = runs_.back().binary();
        if (!runs_.empty() && (!runs_.front().is_running() || runs_.size() == kDeepestRun))
            hand_on(/*more_follows=*/true);
        runs_.emplace_back(file_, same ? std::max(binaries_, 1) : binaries_ + 1, offset);
    }

    void hand_on(bool more_follows) {
        for (Run& run : runs_) see_(run.finish(more_follows || &run != &runs_.back(), room_));
        runs_.clear();
    }

    const ResultFile& file_;
    const SeePart& see_;
    Unnamed::Room room_;
    std::vector<Run> runs_;
    int binaries_ = 0;
};

// CTest's text holds that of GoogleTest with a number before each line, or parts of it.
bool begins_as_ctest(std::string_view beginning) {
    static const RE2 kCtest(
        R"(\d+: (?:Test command: |\[[ =-]).*|\s*\d+/\d+ Test +#.*|    +Start +\d+: .*)",
        RE2::Latin1);
    for (LogLines lines(beginning); lines.next();) {
        if (RE2::FullMatch({lines.line().data(), lines.line().size()}, kCtest)) return true;
        if (event_of(lines.line()).kind != Kind::output) return false;
    }
    return false;
}

}  // namespace

std::vector<Diagnostic> read_googletest_text(const ResultFile& file, const SeePart& see) {
    TextReader(file, see).read();
    return {};
}

int googletest_text_likeness(std::string_view beginning, std::string_view end) {
    if (begins_as_ctest(beginning)) return 0;
    constexpr std::array<std::string_view, 8> kSigns{
        "[==========] ", "[----------] ", "[ RUN      ] ", "[       OK ] ",
        "[  PASSED  ] ", "[  FAILED  ] ", "[  SKIPPED ] ", "Running main() from "};
    return 10 * count_words(kSigns, beginning, end);
}

}  // namespace compat::parsers
