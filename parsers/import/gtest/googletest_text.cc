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
#include "parsers/import/unnamed.h"
#include "parsers/outcomes.h"
#include "parsers/resolve_unfinished.h"
#include "parsers/text.h"
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
const std::array<Form, 12>& forms() {
    using enum Kind;
    constexpr auto kBytes = RE2::Latin1;
    static const std::array<Form, 12> kForms{{
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
        auto number = number_of({digits.data(), digits.size()});
        if (!number) number = digits.empty() ? 0 : kGreatestCount;
        last = {form.kind,
                form.state,
                at,
                {name.data(), name.size()},
                std::min(*number, kGreatestCount)};
    }
    return last;
}

constexpr std::string_view kGtestAdvice = "import the file of --gtest_output=xml instead";

// One run of one binary.
class Run {
  public:
    Run(const ResultFile& file, int binary, size_t begin) : begin_(begin) {
        record_.path = stem_of(file.name);
        if (binary > 1) record_.path += fmt::format("#{}", binary);
        record_.framework = name_of(Framework::gtest);
        record_.from_text = true;
    }

    [[nodiscard]] bool has_begun() const { return header_ || closed_ || !record_.cases.empty(); }
    [[nodiscard]] bool is_closed() const { return closed_.has_value(); }
    // The test that runs; empty: none does.
    [[nodiscard]] std::string_view running() const {
        return running_ ? std::string_view(record_.cases[*running_].name) : std::string_view();
    }

    // Takes a test's output, or the lines of the totals.
    void print(std::string_view text) {
        if (!closed_)
            output_.append(text) += '\n';
        else if (text.starts_with("["))
            closing_.append(text) += '\n';
    }

    // While a test runs, all but its own end is its output.
    void take(const Event& event, std::string_view line, size_t offset) {
        if (running_ &&
            !(event.kind == Kind::end && record_.cases[*running_].name == valid_utf8(event.name)))
            return print(line);
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
        if (event.kind == Kind::closing) closed_ = offset, print(line.substr(event.begin));
    }

    ModuleRecord finish(bool more_follows) {
        std::string last = output_;
        if (running_)
            last.insert(0, fmt::format("[ RUN      ] {}\n", record_.cases[*running_].name));
        else if (!closed_)
            keep_outside();
        if (closed_) set_closing();
        for (auto& [suite, failures] : fixtures_) {
            CaseRecord row = googletest_fixture(suite, std::move(failures), of_environment_);
            row.id = fmt::format("{}::{}", record_.path, row.name);
            record_.cases.push_back(std::move(row));
        }
        number_repeated_ids(record_.cases);
        std::vector<Progress> progress(record_.cases.size(), Progress::ended);
        if (running_) progress[*running_] = Progress::started;
        add_unnamed_tests();
        progress.resize(record_.cases.size(), Progress::ended);
        record_.collected = tests_in(record_.cases);
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
    void doubt(size_t offset, std::string_view what) {
        add_doubt(record_, offset, what, kGtestAdvice);
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

    // The end of the test that runs, a line of the list after the closing, or a test that failed in
    // a run that prints no others (--gtest_brief=1).
    void end_test(const Event& event, size_t offset) {
        const auto known = by_name_.find(valid_utf8(event.name));
        const bool is_new = known == by_name_.end();
        const size_t i = is_new ? add(event.name) : known->second;
        if (closed_ && !is_new) {
            if (record_.cases[i].state == event.state) return;
            doubt(offset, "the list at the end has another result of a test");
        } else if (header_ && !closed_ && running_ != i && ended_ != i) {
            doubt(offset, "a test ends that does not run");
        }
        CaseRecord& test = record_.cases[i];
        if (event.number > 0) test.duration_s = static_cast<double>(event.number) / 1000;
        set_googletest_result(test, event.state, googletest_failures(output_));
        if (closed_) return;
        ended_ = i;
        running_.reset();
        output_.clear();
    }

    // Keeps failures that were printed outside of tests: those of fixtures.
    void keep_outside() {
        std::vector<Failure> failures = googletest_failures(output_);
        output_.clear();
        std::erase_if(failures, [](const Failure& f) { return f.type == "Skipped"; });
        if (failures.empty() || !header_) return;
        std::vector<Failure>& all = fixtures_[suite_];
        std::move(failures.begin(), failures.end(), std::back_inserter(all));
    }

    // The run's own totals. If no line counts failures, they are the rest.
    void set_closing() {
        auto found = find_summary(closing_, name_of(Framework::gtest));
        if (!found) return;
        std::int64_t rest = found->summary.ran.value_or(0);
        for (const auto& [word, count] : found->summary.counts) rest -= std::min(count, rest);
        if (rest > 0) found->summary.counts.emplace_back("failed", rest);
        record_.closing = std::move(found->summary);
    }

    void add_unnamed_tests() {
        OutcomeCounts begun{};
        std::int64_t left = header_.value_or(0);
        for (const CaseRecord& c : record_.cases)
            if (c.started) ++begun[c.state], --left;
        UnnamedTests unnamed{.reason = "the log breaks off"};
        if (record_.closing && header_ && left == *header_) {
            // A global set-up kept all tests from beginning: GoogleTest counts them as passed.
            const bool broke = std::ranges::any_of(record_.cases, [](const CaseRecord& row) {
                return row.phase == Phase::module_setup;
            });
            unnamed.counts[broke ? State::errored : State::skipped] = left;
        } else if (record_.closing) {
            for (const CountedWord& known : counted_words(record_.framework)) {
                const std::int64_t counted =
                    std::min(count_in(*record_.closing, known.word), kGreatestCount);
                unnamed.counts[known.state] =
                    std::max<std::int64_t>(counted - begun[known.state], 0);
                begun[known.state] += unnamed.counts[known.state];
                if (begun[known.state] != counted)
                    doubt(*closed_, "the closing line counts other tests than the lines before it");
            }
        } else {
            unnamed.counts[State::not_run] = std::max<std::int64_t>(left, 0);
        }
        unnamed.counts[State::skipped] += std::max<std::int64_t>(hidden_ - disabled_, 0);
        add_unnamed(record_, record_.path, unnamed, closed_.value_or(begin_), kGtestAdvice);
    }

    size_t begin_;
    ModuleRecord record_;
    std::unordered_map<std::string, size_t> by_name_;
    std::map<std::string, std::vector<Failure>> fixtures_;  // by suite; of all of them: ""
    Phase of_environment_ = Phase::module_setup;
    std::string suite_;
    std::string output_;             // since the last event
    std::optional<size_t> running_;  // the test that runs
    std::optional<size_t> ended_;    // the last one that ended: it may have printed its end before
    std::optional<std::int64_t> header_;
    std::optional<size_t> closed_;
    std::string closing_;  // the lines of its totals
    std::int64_t hidden_ = 0, disabled_ = 0;
};

// The file's runs, one after the other.
class TextReader {
  public:
    TextReader(const ResultFile& file, const SeePart& see) : file_(file), see_(see) {}

    void read() {
        for (LogLines lines(file_.bytes); lines.next();) {
            const Event event = event_of(lines.line());
            if (event.kind == Kind::output) {
                if (run_) run_->print(lines.line());
                continue;
            }
            if (!run_ || is_of_another_run(event, lines.after())) {
                const bool same = event.kind == Kind::repeating && event.number > 1;
                if (run_) see_(run_->finish(/*more_follows=*/true));
                if (!same || binaries_ == 0) ++binaries_;
                run_.emplace(file_, binaries_, lines.offset());
            }
            run_->take(event, lines.line(), lines.offset());
        }
        if (run_) see_(run_->finish(/*more_follows=*/false));
    }

  private:
    // Whether the test that runs ends behind `from`: what stands between is its output.
    [[nodiscard]] bool ends_yet(size_t from) {
        const std::string_view test = run_->running();
        if (test.empty()) return false;
        for (LogLines lines(file_.bytes.substr(from)); ahead_ > 0 && lines.next();) {
            ahead_ -= std::min(ahead_, lines.after() - lines.offset());
            if (const Event event = event_of(lines.line()); valid_utf8(event.name) == test)
                return event.kind == Kind::end;
        }
        return false;
    }

    [[nodiscard]] bool is_of_another_run(const Event& event, size_t after) {
        if (event.kind == Kind::header || event.kind == Kind::repeating)
            return run_->has_begun() && !ends_yet(after);
        return run_->is_closed() && (event.kind == Kind::run || event.kind == Kind::closing);
    }

    const ResultFile& file_;
    const SeePart& see_;
    std::optional<Run> run_;
    int binaries_ = 0;
    size_t ahead_ = file_.bytes.size();  // how much may be read ahead
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
