#include "parsers/googletest_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_map>

#include "parsers/closing.h"
#include "parsers/ending.h"
#include "parsers/googletest.h"
#include "parsers/last_words.h"
#include "parsers/printed_end.h"
#include "parsers/text.h"
#include "parsers/unnamed.h"

namespace compat::parsers {

namespace {

enum class Kind {
    header,     // "[==========] Running 5 tests from 2 test suites."
    closing,    // "[==========] 5 tests from 2 test suites ran. (3 ms total)"
    suite,      // "[----------] 2 tests from Suite, where TypeParam = int"
    suite_end,  // "[----------] 2 tests from Suite (3 ms total)"
    leaving,    // "[----------] Global test environment tear-down"
    run,
    ok,
    failed,
    skipped,
    disabled,
    broken_suite,  // "[  FAILED  ] Suite: SetUpTestSuite or TearDownTestSuite"
    main,          // "Running main() from gtest_main.cc"
    repeating,     // "Repeating all tests (iteration 1) . . ."
    hidden         // "  YOU HAVE 2 DISABLED TESTS"
};

struct Token {
    Kind kind;
    size_t offset;          // of the mark
    size_t after;           // of the line's end
    std::string_view name;  // of the test or suite; else what follows the mark
    double seconds = 0;
    std::int64_t count = 0;  // of header and hidden; the iteration of repeating
    size_t next = 0;         // the next token about the same test; 0: none
};

bool is_end(Kind kind) { return kind == Kind::ok || kind == Kind::failed || kind == Kind::skipped; }

struct Mark {
    std::string_view text;
    Kind kind;
};
constexpr std::array<Mark, 7> kMarks{{
    {"[==========] ", Kind::header},
    {"[----------] ", Kind::suite},
    {"[ RUN      ] ", Kind::run},
    {"[       OK ] ", Kind::ok},
    {"[  FAILED  ] ", Kind::failed},
    {"[  SKIPPED ] ", Kind::skipped},
    {"[ DISABLED ] ", Kind::disabled},
}};
constexpr size_t kMarkBytes = kMarks[0].text.size();
constexpr size_t kLongestName = 4096;

const Mark* mark_at(std::string_view text) {
    for (const Mark& mark : kMarks)
        if (text.starts_with(mark.text)) return &mark;
    return nullptr;
}

// So that sums of counts are none too great for a number.
constexpr std::int64_t kGreatestCount = 1'000'000'000'000;

// "5" of "5 tests from 2 test suites ran."; nothing for other words.
std::optional<std::int64_t> tests_from(std::string_view text) {
    const size_t blank = std::min(text.find(' '), text.size());
    const std::string_view rest = text.substr(blank);
    if (!rest.starts_with(" test from ") && !rest.starts_with(" tests from ")) return std::nullopt;
    return number_of(text.substr(0, blank));
}

// Takes " (12 ms)" off the end of the text: its seconds.
double take_time(std::string_view& text) {
    constexpr std::string_view kUnit = " ms)";
    if (!text.ends_with(kUnit)) return 0;
    const size_t bracket = text.rfind(" (");
    if (bracket == std::string_view::npos) return 0;
    const auto value =
        number_of(text.substr(bracket + 2, text.size() - kUnit.size() - bracket - 2));
    if (!value) return 0;
    text = text.substr(0, bracket);
    return static_cast<double>(*value) / 1000;
}

bool is_test_name(std::string_view name) {
    const size_t dot = name.find('.');
    return name.size() <= kLongestName && dot != 0 && dot != std::string_view::npos &&
           dot + 1 < name.size();
}

// The marks of a text and the lines without one that count, in order.
class Tokens {
  public:
    explicit Tokens(std::string_view text) {
        for (Lines lines(text); lines.next();) read(lines);
        link();
    }
    [[nodiscard]] const std::vector<Token>& all() const { return all_; }

  private:
    void read(const Lines& lines) {
        std::string_view line = lines.line();
        if (line.find('\x1b') != std::string_view::npos)
            line = unescaped_.emplace_back(without_ansi(line));
        if (read_plain(line, lines)) return;
        // What follows a mark ends where the next one begins.
        size_t at = next_mark(line, 0);
        while (at < line.size()) {
            const size_t next = next_mark(line, at + kMarkBytes);
            const std::string_view rest = line.substr(at + kMarkBytes, next - at - kMarkBytes);
            // In a line with escapes the mark lies further on by their length.
            const size_t hidden = lines.line().size() - line.size();
            const size_t offset = hidden == 0 ? lines.offset() + at : raw_offset(lines, line, at);
            add(mark_at(line.substr(at))->kind, trimmed(rest), offset, lines.after());
            at = next;
        }
    }

    // The first mark of an escaped line is where its text stands; a further one is taken for there.
    static size_t raw_offset(const Lines& lines, std::string_view line, size_t at) {
        const size_t found = lines.line().find(line.substr(at, kMarkBytes - 1));
        return lines.offset() + (found == std::string_view::npos ? 0 : found);
    }

    static size_t next_mark(std::string_view line, size_t from) {
        for (size_t at = line.find('[', from); at != std::string_view::npos;
             at = line.find('[', at + 1))
            if (mark_at(line.substr(at, kMarkBytes))) return at;
        return line.size();
    }

    bool read_plain(std::string_view line, const Lines& lines) {
        constexpr std::string_view kHave = "  YOU HAVE ";
        constexpr std::string_view kRepeating = "Repeating all tests (iteration ";
        if (line.starts_with("Running main() from ")) {
            push(Kind::main, {}, lines.offset(), lines.after());
        } else if (line.starts_with(kRepeating)) {
            const std::string_view rest = line.substr(kRepeating.size());
            const auto count = number_of(rest.substr(0, rest.find(')')));
            push(Kind::repeating, {}, lines.offset(), lines.after()).count = count.value_or(1);
        } else if (line.starts_with(kHave)) {
            const std::string_view rest = line.substr(kHave.size());
            const size_t blank = std::min(rest.find(' '), rest.size());
            const auto count = number_of(rest.substr(0, blank));
            if (!count || !rest.substr(blank).starts_with(" DISABLED TEST")) return false;
            push(Kind::hidden, {}, lines.offset(), lines.after()).count =
                std::min(*count, kGreatestCount);
        } else {
            return false;
        }
        return true;
    }

    Token& push(Kind kind, std::string_view name, size_t offset, size_t after) {
        return all_.emplace_back(Token{kind, offset, after, name});
    }

    void add(Kind kind, std::string_view rest, size_t offset, size_t after) {
        constexpr std::string_view kRunning = "Running ";
        constexpr std::string_view kBroken = ": SetUpTestSuite or TearDownTestSuite";
        constexpr std::string_view kWhere = ", where ";
        switch (kind) {
            case Kind::header:
                if (rest.starts_with(kRunning)) {
                    if (const auto count = tests_from(rest.substr(kRunning.size())))
                        push(Kind::header, {}, offset, after).count =
                            std::min(*count, kGreatestCount);
                } else if (tests_from(rest) && rest.find(" ran.") != std::string_view::npos) {
                    push(Kind::closing, {}, offset, after);
                }
                return;
            case Kind::suite:
                if (rest == "Global test environment tear-down") {
                    push(Kind::leaving, {}, offset, after);
                } else if (tests_from(rest)) {
                    const bool over = rest.ends_with(" ms total)");
                    rest.remove_prefix(rest.find(" from ") + 6);
                    push(over ? Kind::suite_end : Kind::suite, rest.substr(0, rest.find(kWhere)),
                         offset, after);
                }
                return;
            case Kind::failed:
                if (rest.ends_with(kBroken)) {
                    rest.remove_suffix(kBroken.size());
                    push(Kind::broken_suite, rest, offset, after);
                    return;
                }
                [[fallthrough]];
            default: {
                const double seconds = kind == Kind::run ? 0 : take_time(rest);
                if (kind == Kind::failed) rest = rest.substr(0, rest.find(kWhere));
                if (is_test_name(rest)) push(kind, rest, offset, after).seconds = seconds;
            }
        }
    }

    void link() {
        std::unordered_map<std::string_view, size_t> coming;
        for (size_t i = all_.size(); i-- > 0;) {
            Token& token = all_[i];
            if (token.kind != Kind::run && !is_end(token.kind)) continue;
            size_t& next = coming[token.name];
            token.next = next;
            next = i;
        }
    }

    std::deque<std::string> unescaped_;  // what names in lines with escapes point to
    std::vector<Token> all_;
};

struct Outside {
    std::string_view suite;  // empty: before the first
    Phase phase;
    std::vector<GoogletestPart> parts;
};

// One run of one binary.
class Part {
  public:
    Part(std::string_view text, std::string path, size_t begin)
        : text_(text), begin_(begin), free_from_(begin) {
        record_.path = std::move(path);
        record_.framework = "gtest";
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
        const std::string_view all = text_.substr(begin_, end - begin_);
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

    [[nodiscard]] std::string plain(size_t from, size_t to) const {
        return without_ansi(text_.substr(from, to - std::min(from, to)));
    }

    size_t add(std::string_view name) {
        const size_t i = record_.cases.size();
        CaseRecord& test = record_.cases.emplace_back();
        test.name = valid_utf8(name);
        test.id = googletest_id(record_.path, name);
        test.started = true;
        if (const int n = ++repeats_[test.id]; n > 1) test.id += fmt::format("#{}", n);
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
        for (const Outside& text : outside_) {
            if (!text.suite.empty() && text.suite != suite_) continue;
            for (const GoogletestPart& part : text.parts)
                if (!part.skipped) return "the set-up failed: " + part.words;
        }
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
        if (header_)
            outside_.push_back({suite_, phase_, std::move(parts)});
        else
            count_of_nobody(parts);
    }

    // The part's own totals. What failed is counted by what is left where no line does.
    void close(size_t end) {
        if (!closing_) return;
        auto found = find_closing(plain(*closing_, end), "gtest");
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
        const auto row_of = [&](std::string_view suite, Phase phase) -> size_t {
            const CaseRecord row = googletest_fixture(record_.path, suite, phase, {});
            for (size_t i = 0; i < rows.size(); ++i)
                if (rows[i].id == row.id) return i;
            rows.push_back(row);
            rows.back().failure.reset();
            return rows.size() - 1;
        };
        for (const Outside& text : outside_)
            for (const GoogletestPart& part : text.parts) {
                if (part.skipped) continue;
                CaseRecord& row = rows[row_of(text.suite, text.phase)];
                Failure failure = googletest_failure(part, text.phase);
                if (!row.failure)
                    row.failure = std::move(failure);
                else
                    row.also.push_back(std::move(failure));
            }
        for (const std::string_view suite : broken_suites_) {
            CaseRecord& row = rows[row_of(suite, Phase::class_setup)];
            if (!row.failure) row.failure = googletest_failure({}, row.phase);
        }
        for (CaseRecord& row : rows) push(std::move(row), Progress::ended);
    }

    void push(CaseRecord row, Progress progress) {
        if (const int n = ++repeats_[row.id]; n > 1) row.id += fmt::format("#{}", n);
        record_.cases.push_back(std::move(row));
        progress_.push_back(progress);
    }

    void add_unnamed() {
        Unnamed unnamed(record_);
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
    ModuleRecord record_;
    std::vector<Progress> progress_;
    std::unordered_map<std::string, size_t> by_name_;
    std::unordered_map<std::string, int> repeats_;
    std::vector<Outside> outside_;
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

class Reader {
  public:
    Reader(const ForeignFile& file, const SeePart& see)
        : file_(file), see_(see), tokens_(file.bytes) {}

    void read() {
        const std::vector<Token>& all = tokens_.all();
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
        const std::vector<Token>& all = tokens_.all();
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
        return part_.emplace(file_.bytes, valid_utf8(path), offset);
    }

    void finish(size_t end, bool last = false) {
        ++parts_;
        see_(part_->take(end, !last));
        part_.reset();
    }

    const ForeignFile& file_;
    const SeePart& see_;
    Tokens tokens_;
    std::optional<Part> part_;
    int parts_ = 0;
    int binaries_ = 0;
};

}  // namespace

std::vector<Diagnostic> read_googletest_text(const ForeignFile& file, const SeePart& see) {
    Reader reader(file, see);
    reader.read();
    if (reader.parts() > 0) return {};
    return {{"log", 0, "nothing in the file is GoogleTest's"}};
}

int googletest_text_likeness(std::string_view beginning, std::string_view end) {
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
