#include "parsers/import/junit/junit_xml.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <pugixml.hpp>
#include <unordered_map>
#include <unordered_set>

#include "parsers/import/fields.h"
#include "parsers/import/junit/junit_case.h"
#include "parsers/import/junit/xml_text.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

using pugi::xml_node;

// Newlines in attributes stay: writers put whole messages there.
constexpr unsigned kParsing =
    pugi::parse_cdata | pugi::parse_escapes | pugi::parse_eol | pugi::parse_fragment;

constexpr std::string_view kSuite = "testsuite";
constexpr std::string_view kSuites = "testsuites";
constexpr std::string_view kTest = "testcase";
// What else may stand in a suite. It is not kept.
constexpr std::array<std::string_view, 3> kNotTests{"properties", "system-out", "system-err"};

std::string_view name_of(xml_node node) { return node.name(); }

bool is_one_of(std::string_view name, const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Totals.

enum TotalWord { tests, failures, errors, skipped };
constexpr std::array<std::string_view, 4> kTotalWords{"tests", "failures", "errors", "skipped"};
using Totals = std::array<std::optional<std::int64_t>, kTotalWords.size()>;

Totals stated_by(xml_node node) {
    // What no file has as many tests of is no count, and sums of what is left stay in range.
    constexpr std::int64_t kMost = 1'000'000'000'000;
    const auto number = [&](const char* name) {
        const auto count = number_of(node.attribute(name).as_string());
        return count && *count <= kMost ? count : std::nullopt;
    };
    Totals totals{number("tests"), number("failures"), number("errors"), number("skipped")};
    // Of pytest up to 5.0, and of nose.
    for (const char* older : {"skips", "skip"})
        if (!totals[skipped]) totals[skipped] = number(older);
    return totals;
}

// A word that one of them leaves out is in no sum.
Totals sum(const Totals& a, const Totals& b) {
    Totals both;
    for (size_t i = 0; i < both.size(); ++i)
        if (a[i] && b[i]) both[i] = *a[i] + *b[i];
    return both;
}

// Results.

// An id is one line and the same in every run.
std::string tidy(std::string_view id) {
    std::string out;
    for (const char c : id) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
            out += c;
    }
    if (out.find("0x") != std::string::npos) {
        static const RE2 kNamed("(at[ _])0x[0-9a-fA-F]+");
        static const RE2 kBare(R"(\b0x[0-9a-fA-F]{9,16}\b)");
        RE2::GlobalReplace(&out, kNamed, "\\10x…");
        RE2::GlobalReplace(&out, kBare, "0x…");
    }
    return out;
}

int badness(State state) {
    switch (state) {
        case State::failed:
            return 3;
        case State::errored:
            return 2;
        case State::skipped:
            return 1;
        default:
            return 0;
    }
}

// The cases of one part, of elements that come one after the other.
class Part {
  public:
    Part(JunitWriter writer, xml_node root, const XmlText& text, std::string_view file_name)
        : writer_(writer), root_(root), text_(text), stem_(stem_of(file_name)) {
        diagnose_.emplace("log", record_.diagnostics);
        record_.framework = framework_of(writer);
        record_.from_text = true;
    }

    [[nodiscard]] bool takes(JunitWriter writer, xml_node root) const {
        const bool a_run_each = writer == JunitWriter::pytest || writer == JunitWriter::ctest;
        return !a_run_each && writer == writer_ && root == root_;
    }

    void begin_suite(xml_node suite) {
        // It is in none of GoogleTest's totals: no test was.
        if (writer_ == JunitWriter::googletest &&
            suite.attribute("name").as_string() == std::string_view("NonTestSuiteFailure"))
            return;
        const Totals stated = stated_by(suite);
        suites_ = suites_ ? sum(*suites_, stated) : stated;
        offset_ = offset_of(suite);
    }

    void add_test(xml_node element) {
        if (writer_ == JunitWriter::pytest && !element.attribute("name") &&
            !element.attribute("classname") && !element.first_child())
            return nameless_.push_back(element);
        add(element);
    }

    // The part as it is handed on. `broken_off`: where the file does, in the part's last test.
    ModuleRecord finish(bool broken_off, const Totals& root) {
        record_.finished = record_.ready = !broken_off;
        settle_nameless();
        if (paths_.size() == 1)
            record_.path = *paths_.begin();
        else if (paths_.empty())
            record_.path = stem_;
        set_closing(root);
        record_.collected = static_cast<std::int64_t>(record_.cases.size());
        if (broken_off) {
            if (stated_tests_) record_.collected = std::max(record_.collected, *stated_tests_);
            record_.outcome = ModuleOutcome::interrupted;
            record_.reason = "its file breaks off";
        } else if (record_.cases.empty()) {
            record_.outcome = ModuleOutcome::no_tests;
            record_.reason = "no tests in it";
        } else if (record_.cases.size() == 1 && record_.cases[0].phase == Phase::load &&
                   record_.cases[0].state == State::errored) {
            record_.outcome = ModuleOutcome::load_error;
            record_.reason = record_.cases[0].failure->first_line();
        }
        if (!broken_off) note_unnamed_outcomes();
        diagnose_.reset();
        return std::move(record_);
    }

    [[nodiscard]] Totals stated() const { return suites_.value_or(Totals{}); }

    void diagnose(size_t offset, std::string message) {
        diagnose_->add(offset, std::move(message));
    }

  private:
    using Known = std::unordered_map<std::string, size_t>::const_iterator;

    void add(xml_node element) {
        JunitCase found = junit_case(writer_, element, [&](size_t offset, std::string message) {
            diagnose_->add(text_.source_offset(offset), std::move(message));
        });
        if (found.path.empty()) found.path = stem_;
        if (found.path.find("::") != std::string::npos) RE2::GlobalReplace(&found.path, "::", ".");
        found.path = tidy(found.path);
        paths_.insert(found.path);
        if (std::string& name = found.test.name; writer_ == JunitWriter::pytest)
            name = fmt::format("{}::{}", found.path, found.test.id);
        found.test.id = tidy(fmt::format("{}::{}", found.path, found.test.id));
        const auto known = last_.find(found.test.id);
        if (!found.subtest.empty()) return add_subtest(std::move(found), known);
        if (known != last_.end() && joins(record_.cases[known->second], found, element)) {
            join(record_.cases[known->second], std::move(found.test));
            return;
        }
        // A tear-down that breaks after a failed call is no outcome of its own in `tests`.
        outcomes_ += found.outcomes;
        insert(std::move(found.test), element);
    }

    // An interrupted pytest writes an element without a name for the test that was running, which
    // no total counts.
    void settle_nameless() {
        const std::optional<std::int64_t> total = stated()[tests];
        for (const xml_node element : nameless_)
            if (!total || outcomes_ < *total)
                add(element);
            else
                diagnose(offset_of(element), "a test without a name that the totals do not count");
    }

    [[nodiscard]] size_t offset_of(xml_node node) const {
        const auto name = static_cast<size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 1));
        return text_.source_offset(name - 1);
    }

    void insert(CaseRecord test, xml_node element) {
        const std::string id = test.id;
        int& n = repeats_[id];
        while (!ids_.insert(test.id = ++n == 1 ? id : fmt::format("{}#{}", id, n)).second) {
        }
        last_[id] = record_.cases.size();
        elements_.push_back(element);
        record_.cases.push_back(std::move(test));
    }

    // Whether this element tells more of a test that has one already. pytest has a second one for
    // a tear-down that broke after a failed call, unittest-xml-reporting one for each outcome: only
    // a test's last has a time of its own.
    bool joins(const CaseRecord& known, const JunitCase& found, xml_node element) const {
        if (writer_ == JunitWriter::pytest)
            return found.only_teardown && known.state == State::failed &&
                   std::none_of(known.also.begin(), known.also.end(),
                                [](const Failure& f) { return f.phase == Phase::teardown; });
        if (writer_ != JunitWriter::unittest || known.pseudo) return false;
        if (!known.subcases.empty() && !known.failure) return true;
        const auto timeless = [](xml_node node) {
            return std::string_view(node.attribute("timestamp").as_string()).starts_with("0001-");
        };
        const bool bad = known.state != State::passed && found.test.state != State::passed;
        return bad && (timeless(element) || timeless(elements_[last_.at(found.test.id)]) ||
                       known.state != found.test.state);
    }

    static void join(CaseRecord& known, CaseRecord more) {
        known.duration_s += more.duration_s;
        if (!more.failure) {
            // A skip after a failure in the file was one before it in time.
            known.call_state = more.state;
            known.reason = more.reason;
            return;
        }
        if (!known.failure) {
            if (known.subcases.empty()) known.call_state = known.state;
            known.state = std::max(known.state, more.state,
                                   [](State a, State b) { return badness(a) < badness(b); });
            known.failure = std::move(more.failure);
        } else {
            known.also.push_back(std::move(*more.failure));
        }
        std::move(more.also.begin(), more.also.end(), std::back_inserter(known.also));
    }

    void add_subtest(JunitCase found, Known known) {
        SubCase sub{found.subtest, found.test.state, found.test.reason,
                    std::move(found.test.failure)};
        if (known == last_.end()) {
            CaseRecord test = std::move(found.test);
            test.failure.reset();
            test.call_state = State::passed;
            const std::string id = test.id;
            insert(std::move(test), {});
            known = last_.find(id);
        } else {
            CaseRecord& test = record_.cases[known->second];
            test.duration_s += found.test.duration_s;
            if (badness(sub.state) > badness(test.state) && !test.failure) {
                test.state = sub.state;
                test.reason = sub.reason;
            }
        }
        record_.cases[known->second].subcases.push_back(std::move(sub));
    }

    void set_closing(const Totals& root) {
        const Totals suites = stated();
        stated_tests_ = std::max(root[tests], suites[tests]);
        if (!stated_tests_) return record_.cases.empty() ? void() : note_no_totals();
        Closing closing;
        for (size_t i = 0; i < kTotalWords.size(); ++i) {
            const auto state = [&](std::int64_t count) {
                closing.counts.emplace_back(kTotalWords[i], count);
                closing.text +=
                    fmt::format("{}{}={}", closing.text.empty() ? "" : " ", kTotalWords[i], count);
            };
            if (root[i]) state(*root[i]);
            if (suites[i] && suites[i] != root[i]) state(*suites[i]);
        }
        record_.closing = std::move(closing);
    }

    void note_no_totals() {
        diagnose(offset_, "it states no totals that its tests could be held to");
    }

    // Sub-tests that pass are in pytest's totals and nowhere else in its file.
    void note_unnamed_outcomes() {
        if (writer_ != JunitWriter::pytest || !stated_tests_ || *stated_tests_ <= outcomes_) return;
        diagnose(offset_, fmt::format("its totals count {} more than it names: sub-tests that "
                                      "passed, which pytest does not write, or tests that are "
                                      "missing",
                                      *stated_tests_ - outcomes_));
    }

    JunitWriter writer_;
    xml_node root_;
    const XmlText& text_;
    std::string stem_;
    ModuleRecord record_;
    std::optional<Diagnoser> diagnose_;
    std::optional<Totals> suites_;
    std::optional<std::int64_t> stated_tests_;
    size_t offset_ = 0;
    std::int64_t outcomes_ = 0;
    std::unordered_set<std::string> paths_;
    std::unordered_set<std::string> ids_;
    std::unordered_map<std::string, int> repeats_;
    std::unordered_map<std::string, size_t>
        last_;                        // id without a "#2" -> the last case that has it
    std::vector<xml_node> elements_;  // runs parallel to the cases
    std::vector<xml_node> nameless_;
};

// Where the file breaks off.
struct Break {
    size_t offset = 0;
    std::string message;
    xml_node open;  // that it is in the middle of: a test, or any element's own tag
};

// The whole file.

class Document {
  public:
    Document(const ForeignFile& file, const SeePart& see, Diagnoser& diagnose)
        : file_(file), see_(see), diagnose_(diagnose), text_(file.bytes, diagnose) {}

    void read() {
        // The text outlives the document's own copy of it, which the parser cuts into pieces.
        const pugi::xml_parse_result result = document_.load_buffer(
            text_.text().data(), text_.text().size(), kParsing, pugi::encoding_utf8);
        if (result.status != pugi::status_ok && result.status != pugi::status_no_document_element)
            break_off(result);
        walk();
        // A report of no suite at all is one of no tests.
        if (!root_ && empty_root_) {
            root_ = empty_root_;
            begin_part(JunitWriter::other);
        }
        if (broken_ && part_)
            part_->diagnose(broken_->offset, broken_->message);
        else if (broken_)
            diagnose_.add(broken_->offset, broken_->message);
        if (part_) hand_on(broken_.has_value(), parts_of_root_ > 1);
        end_root();
        if (!root_) diagnose_.add(0, "there is no <testsuite> in it");
    }

  private:
    void break_off(const pugi::xml_parse_result& result) {
        // At the end of the text the parser gives its last character.
        size_t end = static_cast<size_t>(std::max<std::ptrdiff_t>(result.offset, 0)) + 1;
        end = end < text_.text().size() ? end - 1 : text_.text().size();
        broken_.emplace();
        broken_->offset = text_.source_offset(end);
        broken_->message = fmt::format("the file breaks off here ({})", result.description());
        // What was open is the last child, and so on down.
        const std::string_view text = text_.text().substr(0, end);
        for (xml_node node = document_.last_child(); node; node = node.last_child()) {
            if (node.offset_debug() < 0) return;
            const auto begin = static_cast<size_t>(node.offset_debug());
            const bool is_test = name_of(node) == kTest;
            if (is_test && xml_element_is_whole(text, begin, kTest)) return;
            if (!is_test && xml_tag_end(text, begin) < text.size()) continue;
            broken_->open = node;
            if (is_test)
                broken_->message +=
                    ", inside the test " +
                    valid_utf8(std::string_view(node.attribute("name").as_string()));
            return;
        }
    }

    // In the file's order and without recursion: hostile files nest as deep as they are long.
    void walk() {
        for (xml_node node = document_.first_child(); node;) {
            visit(node);
            const bool container = name_of(node) == kSuite || name_of(node) == kSuites;
            if (container && node.first_child()) {
                node = node.first_child();
                continue;
            }
            for (;;) {
                if (node == suite_) suite_ = {};
                if (!node || node.next_sibling()) break;
                node = node.parent();
            }
            node = node.next_sibling();
        }
    }

    void visit(xml_node node) {
        const std::string_view name = name_of(node);
        if (broken_ && node == broken_->open) {
            if (name == kSuites) empty_root_ = node;
        } else if (name == kSuite) {
            if (!suite_) begin_suite(node);
        } else if (name == kTest) {
            if (!suite_) begin_suite(node.parent());
            part_->add_test(node);
        } else if (name == kSuites) {
            empty_root_ = node;
        } else if (!is_one_of(name, kNotTests)) {
            note_unknown(node);
        }
    }

    // Text beside the document, other documents, a suite's own failure.
    void note_unknown(xml_node node) {
        const bool element = node.type() == pugi::node_element;
        const std::string_view what = trimmed(element ? node.name() : node.value());
        if (what.empty()) return;
        const auto at = static_cast<size_t>(std::max<std::ptrdiff_t>(node.offset_debug(), 0));
        diagnose_.add(text_.source_offset(at),
                      fmt::format("{} of no known kind: {}", element ? "an element" : "text",
                                  valid_utf8(what.substr(0, 80))));
    }

    void begin_suite(xml_node suite) {
        suite_ = suite;
        const xml_node root = name_of(suite.parent()) == kSuites ? suite.parent() : suite;
        const JunitWriter writer = writer_of(suite);
        if (!part_ || !part_->takes(writer, root)) {
            if (part_) hand_on(false, root == root_ || parts_of_root_ > 1);
            if (root != root_) end_root();
            root_ = root;
            begin_part(writer);
        }
        part_->begin_suite(suite);
    }

    void begin_part(JunitWriter writer) {
        ++parts_of_root_;
        part_.emplace(writer, root_, text_, file_.name);
    }

    // `of_several`: the root's totals are of other parts, too.
    void hand_on(bool broken_off, bool of_several) {
        const Totals stated = part_->stated();
        of_parts_ = parts_of_root_ == 1 ? stated : sum(of_parts_, stated);
        see_(part_->finish(broken_off, of_several ? Totals{} : stated_by(root_)));
        part_.reset();
    }

    // Of a root with several parts its own totals are those of none of them.
    void end_root() {
        const Totals totals = stated_by(root_);
        for (size_t i = 0; i < kTotalWords.size() && parts_of_root_ > 1; ++i)
            if (totals[i] && of_parts_[i] && *totals[i] != *of_parts_[i])
                diagnose_.totals_differ(
                    0, fmt::format("{}: {} by the file as a whole, {} by its suites",
                                   kTotalWords[i], *totals[i], *of_parts_[i]));
        parts_of_root_ = 0;
    }

    const ForeignFile& file_;
    const SeePart& see_;
    Diagnoser& diagnose_;
    XmlText text_;
    pugi::xml_document document_;
    std::optional<Break> broken_;
    xml_node suite_;  // the outermost one that the walk is in
    xml_node root_;   // of the part: the <testsuites> around it, else the suite itself
    int parts_of_root_ = 0;
    Totals of_parts_;      // of the root's parts so far
    xml_node empty_root_;  // a <testsuites>, in case that it has no suite
    std::optional<Part> part_;
};

}  // namespace

std::vector<Diagnostic> read_junit_xml(const ForeignFile& file, const SeePart& see) {
    std::vector<Diagnostic> diagnostics;
    Diagnoser diagnose("log", diagnostics);
    Document(file, see, diagnose).read();
    return diagnostics;
}

// Such a file may hold the text of any other dialect in its <system-out>: its beginning decides.
int junit_xml_likeness(std::string_view beginning, std::string_view) {
    std::string text(beginning);
    std::erase(text, '\0');  // of UTF-16
    for (const std::string_view mark : {"\xEF\xBB\xBF", "\xFF\xFE", "\xFE\xFF"})
        if (text.starts_with(mark)) text.erase(0, mark.size());
    return trimmed(text).starts_with('<') && text.find("<testsuite") != std::string::npos ? kCertain
                                                                                          : 0;
}

}  // namespace compat::parsers
