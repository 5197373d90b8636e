#include "parsers/import/gtest/googletest_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "parsers/closing.h"
#include "parsers/ending.h"
#include "parsers/import/case_ids.h"
#include "parsers/import/gtest/googletest.h"
#include "parsers/import/gtest/googletest_tokens.h"
#include "parsers/import/printed_end.h"
#include "parsers/last_words.h"
#include "parsers/import/lines.h"
#include "parsers/text.h"
#include "parsers/unnamed.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using googletest::is_end;
using googletest::Kind;
using googletest::Token;
using googletest::Tokens;

struct Outside {
    std::string_view suite;  // empty: before the first
    Phase phase;
    std::vector<GoogletestPart> parts;
};

// One run of one binary.
class Part {
  public:
    Part(std::string_view text, std::string path, size_t begin, Unnamed::Room& room)
        : text_(text), begin_(begin), free_from_(begin), room_(room) {
        record_.path = std::move(path);
        record_.framework = name_of(Framework::gtest);
        record_.from_text = true;
    }

    [[nodiscard]] bool has_begun() const { return header_ || closing_ || !record_.cases.empty(); }
    [[nodiscard]] bool has_header() const { return header_.has_value(); }
    [[nodiscard]] bool is_closed() const { return closing_.has_value(); }
    [[nodiscard]] const std::string& path() const { return record_.path; }

    void set_header(const Token& token) {
        header_ = token.count;
        free_from_ = token.after;
    }
    void set_closing(const Token& token) {
        keep_outside(token.offset);
        closing_ = token.offset;
    }
    void set_hidden(const Token& token) { hidden_ = token.count; }
    void begin_suite(const Token& token) {
        keep_outside(token.offset);
        suite_ = token.name;
        phase_ = Phase::class_setup;
        free_from_ = token.after;
    }
    void end_suite(const Token& token) {
        keep_outside(token.offset);
        free_from_ = token.after;
    }
    void leave(const Token& token) {
        keep_outside(token.offset);
        suite_ = {};
        phase_ = Phase::module_teardown;
        free_from_ = token.after;
    }

    // A test from its start to its end; without an end, to what comes next.
    void run(const Token& begin, const Token* end, size_t stop) {
        keep_outside(begin.offset);
        const size_t i = add(begin.name);
        last_ = end ? std::optional(i) : std::nullopt;
        free_from_ = stop;
        if (!end) return;
        finish(i, *end, begin.after);
    }

    // A word on a test that does not run: the framework's own on one whose output had said
    // something else, one of the list at the end, or, in brief output, all that is said of a test.
    void judge(const Token& token) {
        const size_t at = case_of(token.name);
        if (closing_) {
            if (at < record_.cases.size()) {
                if (record_.cases[at].state != state_of(token.kind))
                    finish(at, token, token.offset);
            } else {
                finish(add(token.name), token, token.offset);
            }
        } else if (last_ && record_.cases[*last_].name == token.name) {
            finish(*last_, token, free_from_);
            free_from_ = token.after;
        } else {
            judge_unbegun(token);
        }
    }

    void disable(const Token& token) {
        const size_t i = add(token.name);
        record_.cases[i].started = false;
        set_googletest_disabled(record_.cases[i]);
        progress_[i] = Progress::ended;
        ++disabled_;
    }

    void break_suite(const Token& token) { broken_suites_.push_back(token.name); }

    // The record of all that was said up to `end`.
    ModuleRecord take(size_t end, bool more_follows) {
        if (!closing_) keep_outside(end);
        close(end);
        tell_of_nobody();
        add_fixtures();
        add_unnamed();
        record_.collected =
            static_cast<std::int64_t>(std::count_if(record_.cases.begin(), record_.cases.end(),
                                                    [](const CaseRecord& c) { return c.pseudo; }));
        record_.collected += counted();
        const bool finished = closing_.has_value();
        const std::string all = finished ? std::string() : plain(begin_, end);
        const ProcessEnd how = finished ? ProcessEnd{ProcessEnd::Kind::stopped, 0, {}}
                                        : end_of_cut_log(all, more_follows);
        settle(record_, progress_,
               {.ready = header_ || finished, .finished = finished, .fixture = {}, .last_end = {}},
               how);
        if (!finished) add_last_words(record_, all, how);
        return std::move(record_);
    }

  private:
    static State state_of(Kind kind) {
        if (kind == Kind::ok) return State::passed;
        return kind == Kind::failed ? State::failed : State::skipped;
    }

    // Without what was put around its lines.
    [[nodiscard]] std::string plain(size_t from, size_t to) const {
        std::string text;
        for (LogLines lines(text_.substr(0, to), from); lines.next();)
            text.append(lines.line()) += '\n';
        return text;
    }

    size_t add(std::string_view name) {
        const size_t i = record_.cases.size();
        CaseRecord& test = record_.cases.emplace_back();
        test.name = valid_utf8(name);
        test.id = ids_.unique(googletest_id(record_.path, name));
        test.started = true;
        by_name_[test.name] = i;
        progress_.push_back(Progress::started);
        return i;
    }

    [[nodiscard]] size_t case_of(std::string_view name) const {
        const auto it = by_name_.find(valid_utf8(name));
        return it == by_name_.end() ? record_.cases.size() : it->second;
    }

    void finish(size_t i, const Token& end, size_t text_from) {
        CaseRecord& test = record_.cases[i];
        progress_[i] = Progress::ended;
        if (end.seconds > 0) test.duration_s = end.seconds;
        const State state = state_of(end.kind);
        set_googletest_result(test, state, googletest_parts(plain(text_from, end.offset)));
        if (state == State::skipped && test.reason.empty()) test.reason = broken_set_up();
    }

    // Why GoogleTest skips a test that says nothing: its suite's set-up, or that of all.
    [[nodiscard]] std::string broken_set_up() const {
        for (const std::string_view suite : {std::string_view(), suite_})
            if (const auto it = broken_set_ups_.find(suite); it != broken_set_ups_.end())
                return "the set-up failed: " + it->second;
        return {};
    }

    // Of a text that holds no starts, as brief output is: what stands before a failed test is of
    // all tests since the last that failed. One that skipped is none of its own.
    void judge_unbegun(const Token& token) {
        std::vector<GoogletestPart> parts = googletest_parts(plain(free_from_, token.offset));
        const auto last_skip = std::find_if(
            parts.rbegin(), parts.rend(), [](const GoogletestPart& part) { return part.skipped; });
        std::vector<GoogletestPart> own(std::make_move_iterator(last_skip.base()),
                                        std::make_move_iterator(parts.end()));
        parts.erase(last_skip.base(), parts.end());
        count_of_nobody(parts);
        const size_t i = add(token.name);
        progress_[i] = Progress::ended;
        record_.cases[i].duration_s = token.seconds;
        set_googletest_result(record_.cases[i], state_of(token.kind), std::move(own));
        free_from_ = token.after;
    }

    void count_of_nobody(const std::vector<GoogletestPart>& parts) {
        for (const GoogletestPart& part : parts)
            if (!part.skipped && ++of_nobody_ == 1) {
                record_.diagnostics.push_back({"log", static_cast<std::int64_t>(free_from_),
                                               "a failure that is no named test's: " + part.words});
            }
    }

    void tell_of_nobody() {
        if (of_nobody_ > 1)
            record_.diagnostics.push_back(
                {"log", static_cast<std::int64_t>(begin_),
                 fmt::format("{} more failures that are no named test's", of_nobody_ - 1)});
    }

    void keep_outside(size_t to) {
        if (to <= free_from_) return;
        std::vector<GoogletestPart> parts = googletest_parts(plain(free_from_, to));
        free_from_ = to;
        if (parts.empty()) return;
        if (!header_) return count_of_nobody(parts);
        for (const GoogletestPart& part : parts)
            if (!part.skipped && phase_ != Phase::module_teardown)
                broken_set_ups_.try_emplace(suite_, part.words);
        outside_.push_back({suite_, phase_, std::move(parts)});
    }

    // The part's own totals. What failed is counted by what is left where no line does.
    void close(size_t end) {
        if (!closing_) return;
        auto found = find_closing(plain(*closing_, end), name_of(Framework::gtest));
        if (!found) return;
        Closing& closing = found->closing;
        std::int64_t rest = closing.ran.value_or(0);
        bool tells_failed = false;
        for (const auto& [word, count] : closing.counts) {
            tells_failed = tells_failed || word == "failed";
            rest -= std::min(count, rest);
        }
        if (!tells_failed && rest > 0) closing.counts.emplace_back("failed", rest);
        record_.closing = std::move(closing);
    }

    // How many tests the file says there are, disabled ones among them.
    [[nodiscard]] std::int64_t counted() const {
        const std::int64_t disabled = std::max(hidden_, disabled_);
        std::int64_t tests = 0;
        for (const CaseRecord& c : record_.cases) tests += !c.pseudo;
        if (header_) return *header_ + disabled;
        if (record_.closing)
            return std::min(record_.closing->ran.value_or(0), kGreatestCount) + disabled;
        return tests;
    }

    void add_fixtures() {
        std::vector<CaseRecord> rows;
        std::unordered_map<std::string_view, size_t> by_suite;
        const auto row_of = [&](std::string_view suite, Phase phase) -> CaseRecord& {
            const auto [at, is_new] = by_suite.emplace(suite, rows.size());
            if (is_new) {
                rows.push_back(googletest_fixture(record_.path, suite, phase, {}));
                rows.back().failure.reset();
            }
            return rows[at->second];
        };
        for (const Outside& text : outside_)
            for (const GoogletestPart& part : text.parts) {
                if (part.skipped) continue;
                CaseRecord& row = row_of(text.suite, text.phase);
                Failure failure = googletest_failure(part, text.phase);
                if (!row.failure)
                    row.failure = std::move(failure);
                else
                    row.also.push_back(std::move(failure));
            }
        for (const std::string_view suite : broken_suites_) {
            CaseRecord& row = row_of(suite, Phase::class_setup);
            if (!row.failure) row.failure = googletest_failure({}, row.phase);
        }
        for (CaseRecord& row : rows) push(std::move(row), Progress::ended);
    }

    void push(CaseRecord row, Progress progress) {
        row.id = ids_.unique(row.id);
        record_.cases.push_back(std::move(row));
        progress_.push_back(progress);
    }

    void add_unnamed() {
        Unnamed unnamed(record_, room_);
        const auto add = [&](std::int64_t count, const CaseRecord& like, Progress progress) {
            unnamed.add(record_.path, count, like);
            progress_.resize(record_.cases.size(), progress);
        };
        const bool any_began = std::any_of(record_.cases.begin(), record_.cases.end(),
                                           [](const CaseRecord& c) { return c.started; });
        if (record_.closing && header_ && !any_began) {
            add_never_begun(add);
        } else if (record_.closing) {
            for (const auto& [word, count] : record_.closing->counts) {
                CaseRecord like;
                like.state = parsers::state_of(word).value_or(State::not_run);
                like.started = true;
                if (like.state == State::failed) like.failure = googletest_failure({}, like.phase);
                add(count - named(like.state), like, Progress::ended);
            }
        } else if (header_) {
            std::int64_t begun = 0;
            for (const CaseRecord& c : record_.cases) begun += c.started;
            add(*header_ - begun, CaseRecord{}, Progress::announced);
        }
        CaseRecord off;
        set_googletest_disabled(off);
        add(hidden_ - disabled_, off, Progress::ended);
        unnamed.tell(closing_.value_or(begin_));
    }

    [[nodiscard]] std::int64_t named(State state) const {
        return std::count_if(record_.cases.begin(), record_.cases.end(),
                             [&](const CaseRecord& c) { return c.started && c.state == state; });
    }

    // The tests that a global set-up kept from beginning: GoogleTest counts them as passed. What it
    // said stands in the first iteration alone.
    template <class Add>
    void add_never_begun(const Add& add) {
        CaseRecord like;
        like.phase = Phase::module_setup;
        like.state = State::skipped;
        like.reason = "none of the tests was begun";
        for (const Outside& text : outside_) {
            if (text.phase != Phase::module_setup) continue;
            const auto failed = std::find_if(text.parts.begin(), text.parts.end(),
                                             [](const GoogletestPart& p) { return !p.skipped; });
            if (failed != text.parts.end()) {
                like.state = State::errored;
                like.reason.clear();
                like.failure = googletest_failure(*failed, like.phase);
            } else {
                set_googletest_result(like, State::skipped, text.parts);
            }
            break;
        }
        add(*header_, like, Progress::ended);
    }

    std::string_view text_;
    size_t begin_;
    size_t free_from_;  // what comes after is no test's output so far
    Unnamed::Room& room_;
    ModuleRecord record_;
    std::vector<Progress> progress_;
    std::unordered_map<std::string, size_t> by_name_;
    CaseIds ids_;
    std::vector<Outside> outside_;
    std::unordered_map<std::string_view, std::string> broken_set_ups_;  // by suite: its words
    std::vector<std::string_view> broken_suites_;
    std::string_view suite_;
    Phase phase_ = Phase::module_setup;
    std::optional<size_t> last_;  // the test that ended last
    std::optional<std::int64_t> header_;
    std::optional<size_t> closing_;
    std::int64_t hidden_ = 0;
    std::int64_t disabled_ = 0;
    std::int64_t of_nobody_ = 0;
};

class TextReader {
  public:
    TextReader(const ForeignFile& file, const SeePart& see)
        : file_(file), see_(see), tokens_(googletest::tokens_of(file.bytes)) {}

    void read() {
        const std::vector<Token>& all = tokens_.all;
        for (size_t i = 0; i < all.size(); ++i) {
            const Token& token = all[i];
            switch (token.kind) {
                case Kind::main:
                    // In brief output it may be of a death test's child.
                    if (part_ && (part_->is_closed() || part_->has_header())) finish(token.offset);
                    open(token.offset);
                    break;
                case Kind::repeating:
                    if (part_ && part_->has_begun()) finish(token.offset);
                    open(token.offset, /*same_binary=*/token.count > 1);
                    break;
                case Kind::header:
                    if (part_ && part_->has_begun()) finish(token.offset);
                    open(token.offset).set_header(token);
                    break;
                case Kind::run:
                    i = run(i);
                    break;
                default:
                    see(token);
            }
        }
        if (part_) finish(file_.bytes.size(), /*last=*/true);
    }

    [[nodiscard]] int parts() const { return parts_; }

  private:
    size_t run(size_t i) {
        const std::vector<Token>& all = tokens_.all;
        const Token& token = all[i];
        if (part_ && part_->is_closed()) finish(token.offset);
        const Token* next = token.next > 0 ? &all[token.next] : nullptr;
        if (next && is_end(next->kind)) {
            open(token.offset).run(token, next, next->after);
            return token.next;
        }
        const size_t stop = i + 1 < all.size() ? all[i + 1].offset : file_.bytes.size();
        open(token.offset).run(token, nullptr, stop);
        return i;
    }

    void see(const Token& token) {
        // Brief output lists nothing after its closing: this is of the next iteration.
        const bool again = part_ && part_->is_closed() && !part_->has_header() &&
                           (is_end(token.kind) || token.kind == Kind::closing);
        if (again) finish(token.offset);
        Part& part = open(token.offset, again);
        switch (token.kind) {
            case Kind::closing:
                if (part.is_closed()) {
                    finish(token.offset);
                    open(token.offset).set_closing(token);
                } else {
                    part.set_closing(token);
                }
                return;
            case Kind::suite:
                return part.begin_suite(token);
            case Kind::suite_end:
                return part.end_suite(token);
            case Kind::leaving:
                return part.leave(token);
            case Kind::disabled:
                return part.disable(token);
            case Kind::broken_suite:
                return part.break_suite(token);
            case Kind::hidden:
                return part.set_hidden(token);
            default:
                return part.judge(token);
        }
    }

    Part& open(size_t offset, bool same_binary = false) {
        if (part_) return *part_;
        if (!same_binary || binaries_ == 0) ++binaries_;
        std::string path(stem_of(file_.name));
        if (binaries_ > 1) path += fmt::format("#{}", binaries_);
        return part_.emplace(file_.bytes, valid_utf8(path), offset, room_);
    }

    void finish(size_t end, bool last = false) {
        ++parts_;
        see_(part_->take(end, !last));
        part_.reset();
    }

    const ForeignFile& file_;
    const SeePart& see_;
    Tokens tokens_;
    Unnamed::Room room_;
    std::optional<Part> part_;
    int parts_ = 0;
    int binaries_ = 0;
};

}  // namespace

std::vector<Diagnostic> read_googletest_text(const ForeignFile& file, const SeePart& see) {
    TextReader reader(file, see);
    reader.read();
    if (reader.parts() > 0) return {};
    return {{"log", 0, "nothing in the file is GoogleTest's"}};
}

namespace {

// The text after a number and `mark`; nothing where the line has another beginning.
std::optional<std::string_view> after_number(std::string_view line, std::string_view mark) {
    const size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
    if (digits == 0 || !line.substr(digits).starts_with(mark)) return std::nullopt;
    return line.substr(digits + mark.size());
}

// "    Start  1: name", "1: Test command: …", "1: [ RUN      ] A.B", "1/17 Test  #1: name …".
bool is_of_ctest(std::string_view line) {
    constexpr std::string_view kStart = "Start ";
    if (const auto output = after_number(line, ": "))
        return output->starts_with("Test command: ") || googletest::begins_with_mark(*output);
    if (const auto rest = after_number(trimmed(line), "/")) {
        const auto test = after_number(*rest, " Test ");
        return test && trimmed(*test).starts_with('#');
    }
    if (!line.starts_with("   ") || !trimmed(line).starts_with(kStart)) return false;
    return after_number(trimmed(trimmed(line).substr(kStart.size())), ": ").has_value();
}

// CTest's text holds that of GoogleTest with a number before each line, or parts of it.
bool begins_as_ctest(std::string_view beginning) {
    for (LogLines lines(beginning); lines.next();) {
        if (is_of_ctest(lines.line())) return true;
        if (googletest::begins_with_mark(lines.line())) return false;
    }
    return false;
}

}  // namespace

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
