// The one reader of what pytest prints: our own attempts' logs (one session of a known module, its
// closing known) and those of others (any number of sessions, of any modules, of any verbosity).
// One pass over the bytes. Not the entry for either: pytest_text.h.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "parsers/ending.h"
#include "parsers/import/lines.h"
#include "parsers/name_index.h"
#include "parsers/pytest_line.h"
#include "parsers/pytest_marks.h"
#include "parsers/record.h"
#include "parsers/text.h"

namespace compat::parsers {

struct PytestLog {
    std::string_view text;
    // All tests are of this module; empty: their node ids tell, and the log may hold several
    // sessions.
    std::string_view module;
    // For what names no module.
    std::string_view fallback;
    // Of one known module: where its session's closing begins; nothing where it has none.
    std::optional<size_t> closing;
};

class PytestScanner {
  public:
    explicit PytestScanner(const PytestLog& log);

    // Reads the next session into `record`, of which path and framework are set; false where there
    // is none. Its closing is set where it has one.
    bool next(ModuleRecord& record);

    // How far each case of the last session came.
    [[nodiscard]] const std::vector<Progress>& progress() const { return progress_; }
    // The last session returned in order.
    [[nodiscard]] bool finished() const { return finished_; }
    [[nodiscard]] bool ready() const { return selected_ || !record_->cases.empty(); }
    // pytest-timeout ended the session's process.
    [[nodiscard]] bool timed_out() const { return timed_out_; }
    // How the last session's process ended, where its log breaks off among the results with a sign
    // of a death.
    [[nodiscard]] const std::optional<ProcessEnd>& death() const { return death_; }
    // Why sums that agree may be wrong all the same.
    [[nodiscard]] const std::vector<Diagnostic>& doubts() const { return doubts_; }

  private:
    // What was said of one test's end, before its sections are known. The state that was said first
    // is its case's.
    struct Said {
        bool any = false;
        bool errored_later = false;  // its tear-down broke, too
        bool assumed = false;        // that its call passed: only of its sub-tests is anything said
        bool excused = false;        // its tear-down broke, as was expected
    };
    using Counts = std::array<std::int64_t, kStateNames.size()>;  // by State
    // Of -q, outcomes that stand in lines of their own, in runs of several in front of what tests
    // print, and at either end of that.
    struct Found {
        Counts characters{};
        Counts runs{};
        Counts around{};
        void take_around(std::string_view line);
        void add(const Found& more);
    };
    // What stands under "___ heading ___": of a test that broke, or what a test printed.
    struct Section {
        std::string heading;
        size_t offset = 0;
        size_t body = 0;
        size_t end = 0;
        bool after_output = false;  // behind captured output: it may be of that
    };
    // Whose section one is.
    struct Owner {
        enum class Kind { nobody, test, subtest, unknown_test, module, crash };
        Kind kind = Kind::nobody;
        size_t test = 0;
        Phase phase = Phase::call;
        std::string_view name;  // of the test or module in its heading
        std::string_view label;
    };
    struct Summary {
        State state = State::passed;
        std::int64_t count = 0;
        bool of_subtest = false;
        std::string text;
        std::string label;
    };
    // Characters of one file, or with -q of all.
    struct Characters {
        std::string file;
        std::array<std::int64_t, kStateNames.size()> counts{};
    };
    // The tests to which sections of one heading may belong, in the order of the log.
    struct Headed {
        std::vector<std::uint32_t> cases;
        size_t next_failed = 0;
        size_t next_errored = 0;
    };
    enum class Stage { results, sections, captured, summary };
    // What a mark in the log is to the session that is being read.
    enum class Meaning { line, passed_over, begins_another, ends_it };
    static constexpr std::uint32_t kNone = PytestMark::kNone;

    void begin_session(ModuleRecord& record);
    void end_session(std::optional<Closing> closing, size_t end);
    [[nodiscard]] bool one_module() const { return !log_.module.empty(); }
    [[nodiscard]] bool has_content() const;

    [[nodiscard]] Meaning meaning_of_mark(const LogLines& lines);
    [[nodiscard]] Meaning meaning_of_start(const LogLines& lines);
    [[nodiscard]] bool is_within_test(std::uint32_t start);
    [[nodiscard]] bool has_result(size_t begin, size_t end) const;
    void find_own_closing();
    [[nodiscard]] std::uint32_t agreeing_closing(std::uint32_t paired) const;
    [[nodiscard]] std::uint32_t quiet_closing();
    [[nodiscard]] std::uint32_t quiet_closing_among_results();
    [[nodiscard]] bool is_contradicted(const Closing& closing) const;
    [[nodiscard]] Found found_in(size_t begin, size_t end) const;
    [[nodiscard]] static bool may_count(const Closing& closing, const Found& found);
    void pass_over();
    void doubt_closing(const Closing& closing, size_t offset);
    [[nodiscard]] std::uint32_t closing_of_more(std::uint32_t printed) const;
    [[nodiscard]] size_t last_summary() const;
    [[nodiscard]] bool may_close(std::uint32_t mark) const;
    [[nodiscard]] bool agrees(std::uint32_t closing) const;
    [[nodiscard]] static bool agree(const Closing& closing, const Counts& read);
    [[nodiscard]] size_t end_of_quiet_session() const;

    void take_line(std::string_view line, size_t after);
    void take_rule(std::string_view line, size_t after);
    void take_heading(std::string_view text);
    [[nodiscard]] bool ends_results(int rank);
    void take_end_of_process(std::string_view line);
    void take_result(std::string_view line);
    void take_node(PytestNode node, std::string_view line);
    void begin_test(const PytestNode& node);
    bool take_outcome(std::string_view line);
    void add_result(PytestStatus status);
    void unsay_result();
    [[nodiscard]] const Counts& printed() const { return verbose_ ? by_lines_ : by_characters_; }
    [[nodiscard]] std::int64_t due_sections() const;
    void add_pending();
    void choose_results(const std::optional<Closing>& closing);
    [[nodiscard]] bool lines_are_printed(const std::optional<Closing>& closing) const;
    void forget_cases();
    void join_lost();
    void forget_characters();
    void shorten_names();
    void add_announced();
    [[nodiscard]] bool died() const { return death_ || timed_out_; }
    void settle_after_output();
    bool take_preamble(std::string_view line);
    bool take_collected(std::string_view line);
    void take_characters(const PytestCharacters& found);
    void take_around(std::string_view line);
    void close_sections(size_t end);

    size_t place_case();
    size_t module_case(std::string_view path);
    size_t find_or_add(std::string_view node);
    void make_known(size_t i);
    void add_status(size_t i, State state, std::string reason, double duration_s);

    [[nodiscard]] PytestSaid said_in(const Summary& summary);
    void add_summaries();
    void name_types();
    void add_summarised();
    void add_sections(const std::optional<Closing>& closing);
    [[nodiscard]] Owner owner_of(const Section& section);
    [[nodiscard]] std::optional<size_t> case_headed(std::string_view heading, Phase phase);
    void share_out(std::vector<Owner>& owners, const std::optional<Closing>& closing);
    void add_section(const Section& section, const Owner& owner);
    size_t test_of_section(std::string_view heading, const Failure& failure);
    void add_crash(size_t i, std::string_view body);
    void add_internal_error(size_t end);
    void settle_teardowns();
    void settle_by_collected(Counts& left);
    [[nodiscard]] bool phases_are_told() const;
    void doubt(size_t offset, std::string_view why);
    void add_unnamed(const std::optional<Closing>& closing);
    [[nodiscard]] std::int64_t add_unnamed_subtests(std::int64_t failed);
    void add_stop();
    void add_missing(std::int64_t missing, std::int64_t counted, bool closed);
    void add_unnamed(std::string_view path, State state, std::int64_t count, std::string reason);
    void resolve(size_t i);
    void excuse(size_t i);

    PytestLog log_;
    std::string fallback_;
    size_t next_ = 0;
    std::vector<PytestMark> marks_;
    std::uint32_t mark_ = 0;                // the next one
    std::uint32_t closing_of_log_ = kNone;  // the mark that log_.closing is

    // Of the session that is being read.
    ModuleRecord* record_ = nullptr;
    std::optional<Diagnoser> diagnose_;
    Stage stage_ = Stage::results;
    size_t offset_ = 0;
    std::uint32_t own_start_ = kNone;  // its first line
    // Once all results are there: what closes it, and where its summary begins.
    bool bounds_known_ = false;
    std::uint32_t own_closing_ = kNone;
    size_t own_summary_ = std::string_view::npos;
    std::optional<bool> results_go_on_;  // after the sessions among them
    size_t skip_to_ = 0;                 // behind a session that a test ran
    std::uint32_t width_ = 0;            // of its terminal; 0: unknown
    int rank_ = 0;                       // of the last part that began after the results
    // Outcomes, as lines of tests and as characters: a session has the one and may print the other.
    Counts by_lines_{};
    Counts by_characters_{};
    // Of -q: such as stand at either end of what tests print, of those runs of several; and all
    // since the last closing that was passed over.
    Counts around_{};
    Counts runs_{};
    Counts since_passed_over_{};
    size_t passed_over_ = 0;            // closings
    bool nothing_before_ = false;       // the last of them
    std::optional<bool> said_verbose_;  // by its first lines
    bool has_progress_ = false;         // behind lines of tests
    bool timed_out_ = false;
    bool verbose_ = false;  // tests had lines of their own
    std::optional<ProcessEnd> death_;
    size_t last_result_ = 0;  // where the last line with one begins
    bool subtests_ = false;   // a character was of a sub-test that failed
    bool of_failures_ = false;
    size_t first_open_ = 0;  // of the sections whose end is not known
    std::string root_;
    std::string stopped_;  // "stopping after 1 failures"
    std::string internal_error_;
    size_t internal_offset_ = 0;
    std::optional<size_t> conftest_;  // where that broke: there was no session
    bool is_pytest_ = false;          // its characters are not another's
    bool all_ran_ = false;            // "[100%]"
    bool finished_ = false;
    std::optional<std::int64_t> selected_;
    std::int64_t skipped_modules_ = 0;
    std::vector<Section> sections_;
    std::vector<Summary> summaries_;
    std::vector<Characters> characters_;
    // What stands before each E: of a broken tear-down the outcome of the call.
    std::vector<State> before_errors_;
    State last_character_ = State::errored;
    bool in_order_ = true;        // one test after the other: no workers
    std::vector<size_t> errors_;  // the cases whose set-up or tear-down broke, as they did
    std::vector<Said> said_;
    std::vector<Progress> progress_;
    std::vector<int> repeats_;
    NameIndex by_id_;
    NameIndex by_node_;
    std::unordered_map<std::string, Headed> by_heading_;
    std::unordered_map<std::string, size_t> modules_;
    std::unordered_set<std::string> headings_;  // of the sections
    std::optional<size_t> current_;
    // The outcome that ended the last line of the current test's output: pytest's own where nothing
    // more follows of the test.
    std::optional<PytestStatus> after_output_;
    // Such an outcome on an earlier line, or one behind which there is more: a tear-down prints,
    // too.
    std::optional<PytestStatus> before_output_;
    // What has the form of tests' lines after that of the current test, before its outcome: it
    // printed them, if that follows.
    struct Pending {
        std::string line;
        size_t offset = 0;
    };
    std::vector<Pending> pending_;
    bool tests_print_ = false;  // an outcome had output before or after it (-s)
    bool may_be_open_ = false;  // the current test may have printed the outcome that its line has
    // Tests without any outcome, each with what followed in the form of another's line: that test's
    // output, where there are as many tests too many.
    struct Lost {
        size_t i = 0;
        size_t next = 0;
    };
    std::vector<Lost> lost_;
    // A case whose name has blanks, and how much of it is the name where tests print.
    struct Shorter {
        size_t i = 0;
        size_t size = 0;
        size_t offset = 0;
    };
    std::vector<Shorter> shorter_;
    std::vector<std::string> announced_;  // by workers, with blanks
    std::vector<Diagnostic> doubts_;
    std::int64_t excused_ = 0;         // broken tear-downs that were expected, of unnamed tests
    std::int64_t unnamed_ = 0;         // of this session
    std::int64_t unnamed_in_all_ = 0;  // of the file
};

}  // namespace compat::parsers
