// The one reader of what unittest's text runner prints: our own attempts' logs (one run, its module
// and its closing known) and those of others (any number of runs, of any modules). One pass over
// the bytes; what is kept of a run is its record. Not the entry for either: unittest_text.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "parsers/ending.h"
#include "parsers/log_lines.h"
#include "parsers/name_index.h"
#include "parsers/record.h"
#include "parsers/text.h"
#include "parsers/unittest_header.h"
#include "parsers/unittest_status.h"
#include "parsers/unnamed.h"

namespace compat::parsers {

struct UnittestLog {
    std::string_view text;
    // All tests are of this module, whatever their classes are called; empty: their names tell, and
    // the log may hold several runs.
    std::string_view module;
    // For what names no module: tests of `__main__`, tests without a name.
    std::string_view fallback;
    // Of one known module: where its run's closing begins; nothing where it has none.
    std::optional<size_t> closing;
};

class UnittestScanner {
  public:
    explicit UnittestScanner(const UnittestLog& log);

    // Reads the next run into `record`, of which path and framework are set; false where there is
    // none. Its closing is set where it has one.
    bool next(ModuleRecord& record);

    // The module of all cases of the last run; empty where there are several.
    [[nodiscard]] const std::string& path() const { return path_; }
    // How far each case of the last run came.
    [[nodiscard]] const std::vector<Progress>& progress() const { return progress_; }
    // What stands behind the last thing that the last run said of its tests.
    [[nodiscard]] std::string_view tail() const { return tail_; }
    // How many runs read before are no runs: the last one is theirs, and those that closed among
    // them were made by its tests.
    [[nodiscard]] size_t taken_back() const { return taken_back_; }
    // Whether the last runs, as many as are kept, may yet be taken back.
    [[nodiscard]] bool may_take_back() const { return !earlier_.empty(); }
    // What is to be said of the last run instead, where it is nothing but characters that no
    // closing counts.
    [[nodiscard]] const std::optional<Diagnostic>& doubts() const { return doubt_; }

  private:
    // What the lines of one test said, before its sections are known. The state that its first line
    // gave is its case's.
    struct Said {
        bool any = false;             // a line of its own
        std::optional<State> broke;   // the first line that said failed or errored
        std::optional<State> at_end;  // the last one that followed the test's own output
        std::optional<State> again;   // the line after that first one
        bool failed_section = false;  // of the test itself, sub-tests apart
        bool errored_section = false;
        size_t offset = 0;  // of its line
    };
    struct Section {
        State state = State::failed;
        double duration_s = 0;
        std::string heading;
        size_t offset = 0;
        size_t body = 0;
        size_t end = 0;
        bool apart = false;  // an empty line before it, as unittest prints all but the first
    };
    enum class Stage { results, sections, durations };
    // What comes next of a runner's words.
    enum class Next { run, part_of_run, status, nothing };
    // A test after which another one began before it had ended.
    struct Unended {
        size_t i = 0;
        std::int64_t headers = 0;  // that there were up to it
    };

    // A run that was read, as long as a later closing may count its tests.
    struct Earlier {
        size_t begin = 0;
        size_t own = 0;  // where the tests begin that its closing counts
        size_t end = 0;
        Unnamed::Room room;  // that it found
        bool closed = false;
        bool verbose = false;
        // Tests that its lines or characters show and its closing does not count; at the most with
        // the characters that stand among prints.
        std::int64_t least = 0;
        std::int64_t most = 0;
    };
    enum class Read { run_ended, again, all };

    Read read(size_t from, size_t to);
    void begin_run(ModuleRecord& record);
    void keep_earlier(const std::optional<Closing>& closing, size_t end);
    [[nodiscard]] size_t enclosed_by(const Closing& closing) const;
    void read_again(size_t runs);
    bool take_names(std::string_view line);
    void doubt();
    void fold_sections(const Closing& closing);
    void drop_printed(const Closing& closing);
    [[nodiscard]] std::optional<size_t> place_of(std::string_view part) const;
    void end_run(std::optional<Closing> closing, size_t end);
    [[nodiscard]] bool one_module() const { return !log_.module.empty(); }
    [[nodiscard]] bool has_content() const {
        return !record_->cases.empty() || !sections_.empty() || (fatal_ && !verbose_);
    }
    [[nodiscard]] size_t first_character() const {
        return character_lines_.empty() ? 0 : character_lines_.front().offset;
    }

    bool take_marker(const LogLines& lines);
    bool take_title(LogLines& lines);
    bool take_closing(LogLines& lines);
    [[nodiscard]] bool is_of_run(const Closing& closing, bool after_broken_off) const;
    [[nodiscard]] bool fits(const Closing& closing) const;
    [[nodiscard]] bool is_printed(size_t i, size_t before) const;
    [[nodiscard]] bool names_are_printed(const Closing& closing);
    [[nodiscard]] bool begins_run(std::string_view line) const;
    [[nodiscard]] Next next_after(LogLines lines) const;
    [[nodiscard]] bool has_ended(size_t i) const;
    [[nodiscard]] std::optional<size_t> broken_off_before(const Closing& closing) const;
    [[nodiscard]] bool is_named(const Section& section);
    [[nodiscard]] size_t characters_before(const Closing& closing) const;
    void break_off_before(size_t i);
    void break_off_after(size_t characters);
    [[nodiscard]] size_t after_ellipsis(size_t offset, size_t end) const;
    void close_section(size_t end);
    void drop_sections();
    bool leave_sections();
    void take_within_test(std::string_view line);

    void take_result(std::string_view line);
    bool take_subtest(std::string_view line);
    void take_output(std::string_view line);
    void take_output(std::string_view line, std::optional<UnittestHeader> header);
    void take_progress(std::string_view line);
    void take_duration(std::string_view line);
    void take_status(UnittestStatus status);
    void take_nameless_skip(std::string reason);

    [[nodiscard]] bool is_test(const UnittestHeader& header) const;
    void begin(const UnittestHeader& header);
    size_t add(const UnittestHeader& header);
    size_t place_case();
    std::optional<size_t> find(const UnittestHeader& header);
    std::optional<size_t> find_broken(const UnittestHeader& header, State state);
    SubCase& subcase(size_t i, std::string_view label);
    [[nodiscard]] const std::string& prefix_of(std::string_view owner);
    [[nodiscard]] std::string path_of_module(std::string_view dotted);
    [[nodiscard]] std::string class_of(std::string_view qualified) const;

    // How many the closing counts under a word; under none, the tests that ran.
    [[nodiscard]] static std::int64_t counted(const Closing& closing, std::string_view word);
    void add_section(const Section& section);
    void add_unnamed(const std::optional<Closing>& closing);
    void add_unsaid_skips(const Closing& closing);
    void add_unnamed(std::int64_t count, const CaseRecord& like);
    void note_path(std::string_view path);
    void resolve(size_t i, bool finished);
    void resolve_broken(CaseRecord& c, const Said& said) const;

    UnittestLog log_;
    std::string dotted_;
    std::string fallback_;
    size_t next_ = 0;
    Unnamed::Room room_;
    std::vector<Earlier> earlier_;
    std::vector<Earlier> inner_;  // made by tests of the run that is being read: passed over
    size_t whole_until_ = 0;      // up to here, that run is one, whatever it looks like
    bool of_characters_ = false;  // and it names no tests
    std::int64_t given_up_ = 0;   // lines with names: its tests printed them
    bool again_ = false;          // the run at hand is to be read once more
    size_t taken_back_ = 0;
    size_t read_again_ = 0;   // bytes, of the whole file
    size_t looked_over_ = 0;  // bytes, for characters among names
    std::optional<Diagnostic> doubt_;

    // Of the run that is being read.
    ModuleRecord* record_ = nullptr;
    std::optional<Diagnoser> diagnose_;
    Stage stage_ = Stage::results;
    size_t begin_ = 0;
    Unnamed::Room room_before_;
    size_t offset_ = 0;
    size_t after_ = 0;  // the line that begins at `offset_`
    bool after_blank_ = false;
    bool mirrored_ = false;  // what a test that broke had printed stands among the results (-b)
    size_t tail_from_ = 0;
    std::string_view tail_;
    bool fatal_ = false;        // Python said that it dies, in the test that began last
    bool in_dump_ = false;      // the lines after that, in a run that is not verbose
    bool within_test_ = false;  // the sections began before that test had ended
    std::optional<UnittestStatus> status_within_;  // the last line, where it is one
    std::vector<Unended> unended_;
    std::optional<size_t> rule_;  // the line before was one: where it begins
    bool open_section_ = false;
    std::optional<std::string> documented_;  // a header whose docstring is on the next line
    size_t documented_at_ = 0;
    size_t begins_at_ = 0;  // the test that is being added
    std::vector<Section> sections_;
    bool own_section_ = false;  // one of them is a test's of this run
    std::vector<Said> said_;
    std::vector<Progress> progress_;
    NameIndex by_id_;
    NameIndex by_name_;
    struct SubPlace {
        size_t i = 0;
        size_t sub = 0;
    };
    NameIndex by_label_;
    std::vector<SubPlace> subs_;  // what by_label_ finds
    std::vector<int> repeats_;    // of each case's id
    // The cases of one name, and from where on sections of theirs are looked for.
    struct Namesakes {
        std::vector<std::uint32_t> cases;
        size_t next_failed = 0;
        size_t next_errored = 0;
    };
    std::unordered_map<std::string, Namesakes> namesakes_;
    std::optional<size_t> current_;
    std::string key_of_current_;
    std::string path_;  // of all cases so far
    bool several_paths_ = false;
    std::string owner_;         // of the class whose prefix was made last
    std::string prefix_;        // "tests/test_a.py::TestA::"
    bool verbose_ = false;      // there are lines of tests or fixtures
    std::int64_t headers_ = 0;  // of tests
    std::int64_t printed_ = 0;  // of these, within a test, so far as its outcome shows
    std::optional<Unnamed> unnamed_;
    std::string characters_;  // of lines that hold nothing else
    std::string mixed_;       // at either end of other lines, printed or not
    size_t inside_ = 0;       // such characters in lines that hold others, too
    struct CharacterLine {
        size_t first = 0;  // of its characters in `characters_`
        size_t offset = 0;
    };
    std::vector<CharacterLine> character_lines_;
    size_t last_size_ = 0;  // how many cases the run before had
};

}  // namespace compat::parsers
