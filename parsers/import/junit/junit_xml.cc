#include "parsers/import/junit/junit_xml.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <pugixml.hpp>
#include <unordered_map>
#include <utility>

#include "parsers/import/case_table.h"
#include "parsers/import/fields.h"
#include "parsers/import/gtest/unwritten.h"
#include "parsers/import/junit/junit_case.h"
#include "parsers/import/junit/junit_pytest.h"
#include "parsers/import/origin.h"
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
// Other elements of a suite. They are not kept.
constexpr std::array<std::string_view, 3> kNotTests{"properties", "system-out", "system-err"};

// Totals.

enum TotalWord { tests, failures, errors, skipped };
constexpr std::array<std::string_view, 4> kTotalWords{"tests", "failures", "errors", "skipped"};
using Totals = JunitTotals;

// A number that no file reaches is no count, and sums of the others stay in range.
std::optional<std::int64_t> stated_count(xml_node node, const char* name) {
    constexpr std::int64_t kMost = 1'000'000'000'000;
    const auto count = number_of(junit_attribute(node, name));
    return count && *count <= kMost ? count : std::nullopt;
}

Totals stated_by(xml_node node) {
    const auto number = [&](const char* name) { return stated_count(node, name); };
    Totals totals{number("tests"), number("failures"), number("errors"), number("skipped")};
    // Written by pytest up to 5.0, and by nose.
    for (const char* older : {"skips", "skip"})
        if (!totals[skipped]) totals[skipped] = number(older);
    return totals;
}

// A word that one of them leaves out is in no sum.
Totals sum(const std::optional<Totals>& a, const Totals& b) {
    if (!a) return b;
    Totals both;
    for (size_t i = 0; i < both.size(); ++i)
        if ((*a)[i] && b[i]) both[i] = *(*a)[i] + *b[i];
    return both;
}

// Results.

// The state of a test by its worst outcome.
int badness(State state) {
    constexpr std::array kOrder{State::skipped, State::errored, State::failed};
    const auto* const at = std::find(kOrder.begin(), kOrder.end(), state);
    return at == kOrder.end() ? 0 : static_cast<int>(at - kOrder.begin()) + 1;
}

// Only a test's last element has a time of its own in unittest-xml-reporting's file.
bool is_timeless(xml_node element) {
    return junit_attribute(element, "timestamp").starts_with("0001-");
}

// The cases of one part, of elements that come one after the other.
class Part {
  public:
    Part(JunitWriter writer, std::string stem) : writer_(writer), stem_(std::move(stem)) {
        record_.framework = framework_of(writer);
        record_.from_text = true;
    }

    [[nodiscard]] JunitWriter writer() const { return writer_; }
    [[nodiscard]] Totals stated() const { return suites_.value_or(Totals{}); }

    // Its suites' totals count where it states none.
    [[nodiscard]] bool begin_suite(xml_node suite, size_t offset) {
        // It is in none of GoogleTest's totals: no test was.
        if (writer_ == JunitWriter::googletest &&
            junit_attribute(suite, "name") == "NonTestSuiteFailure")
            return true;
        offset_ = offset;
        take_origin(suite);
        return add_totals(suite);
    }

    // Whether it states any. One around others may state none; node's root has tests, too.
    bool add_totals(xml_node suite) {
        const Totals stated = stated_by(suite);
        const bool any = stated != Totals{};
        if (any || (writer_ != JunitWriter::node && suite.child("testcase")))
            suites_ = sum(suites_, stated);
        return any;
    }

    // Reads a suite, or the root around suites.
    void take_origin(xml_node node) {
        Origin& origin = record_.origin;
        const std::string host = valid_utf8(junit_attribute(node, "hostname"));
        // Several hosts are none.
        if (!host.empty() && hosts_++ == 0)
            origin.host = host;
        else if (!host.empty() && host != origin.host)
            origin.host.clear();
        take_times(origin, junit_attribute(node, "timestamp"),
                   file_seconds(junit_attribute(node, "time")));
        for (const xml_node property : node.child("properties").children("property"))
            take_property(origin, junit_attribute(property, "name"),
                          property.attribute("value") ? junit_attribute(property, "value")
                                                      : property.text().as_string());
    }

    void add_test(xml_node element) {
        if (writer_ == JunitWriter::googletest) unwritten_.see(element);
        JunitCase found = junit_case(writer_, element, counted_);
        if (found.path.empty()) found.path = stem_;
        static const RE2 kColons("::");
        if (found.path.find("::") != std::string::npos)
            RE2::GlobalReplace(&found.path, kColons, ".");
        found.path = tidy_id(found.path);
        if (std::string& name = found.test.name; writer_ == JunitWriter::pytest)
            name = fmt::format("{}::{}", found.path, found.test.id);
        found.test.id = tidy_id(fmt::format("{}::{}", found.path, found.test.id));
        const auto known = last_.find(found.test.id);
        // jest-junit writes the same error twice.
        if (known != last_.end() && writer_ == JunitWriter::jest && found.test.pseudo) return;
        if (!found.subtest.empty()) return add_subtest(std::move(found));
        if (known != last_.end() && writer_ == JunitWriter::pytest)
            add_pytest_element(record_.cases[known->second.at], std::move(found.test),
                               found.only_teardown);
        else if (known == last_.end() || !joins(known->second, found.test, element))
            insert(std::move(found.test), is_timeless(element));
        else
            join(record_.cases[known->second.at], std::move(found.test));
    }

    void add_unloaded(CaseRecord row) {
        row.id = tidy_id(row.id);
        insert(std::move(row), false);
    }

    void diagnose(size_t offset, std::string message) {
        record_.diagnostics.push_back(
            {"log", static_cast<std::int64_t>(offset), std::move(message)});
    }

    // The part as it is handed on. `broken_off`: where the file does, in the part's last test.
    ModuleRecord finish(bool broken_off, const Totals& root) {
        record_.finished = record_.ready = !broken_off;
        if (writer_ == JunitWriter::pytest)
            for (std::string& said :
                 settle_pytest_tests(record_.cases, broken_off ? std::nullopt : stated_tests(root)))
                diagnose(offset_, std::move(said));
        record_.path = record_.cases.empty() ? stem_ : common_module(record_.cases);
        number_repeated_ids(record_.cases);
        record_.collected = static_cast<std::int64_t>(record_.cases.size());
        set_closing(root, broken_off);
        unwritten_.add_to(record_, offset_);
        if (broken_off) {
            record_.outcome = ModuleOutcome::interrupted;
            record_.reason = "its file breaks off";
        } else {
            set_outcome_by_cases(record_);
        }
        return std::move(record_);
    }

  private:
    struct Last {
        size_t at;  // the case
        bool timeless;
    };

    void insert(CaseRecord test, bool timeless) {
        last_[test.id] = {record_.cases.size(), timeless};
        record_.cases.push_back(std::move(test));
    }

    // Whether this element tells more of a test that has one already: unittest-xml-reporting has
    // one for each outcome.
    bool joins(const Last& last, const CaseRecord& found, xml_node element) const {
        const CaseRecord& known = record_.cases[last.at];
        if (writer_ != JunitWriter::unittest || known.pseudo) return false;
        if (!known.subcases.empty() && !known.failure) return true;
        return known.state != State::passed && found.state != State::passed &&
               (is_timeless(element) || last.timeless || known.state != found.state);
    }

    void join(CaseRecord& known, CaseRecord more) {
        known.duration_s += more.duration_s;
        if (!more.failure) {
            // A skip after a failure in the file was one before it in time.
            known.call_state = more.state;
            known.reason = more.reason;
            return;
        }
        if (known.failure) {
            known.also.push_back(std::move(*more.failure));
        } else {
            if (known.subcases.empty()) known.call_state = known.state;
            if (badness(more.state) > badness(known.state)) known.state = more.state;
            known.failure = std::move(more.failure);
        }
        std::move(more.also.begin(), more.also.end(), std::back_inserter(known.also));
    }

    void add_subtest(JunitCase found) {
        SubCase sub{found.subtest, found.test.state, found.test.reason,
                    std::exchange(found.test.failure, {})};
        const std::string id = found.test.id;
        const double duration_s = std::exchange(found.test.duration_s, 0);
        found.test.call_state = State::passed;
        if (!last_.contains(id)) insert(std::move(found.test), false);
        CaseRecord& test = record_.cases[last_.at(id).at];
        test.duration_s += duration_s;
        if (badness(sub.state) > badness(test.state) && !test.failure) {
            test.state = sub.state;
            test.reason = sub.reason;
        }
        test.subcases.push_back(std::move(sub));
    }

    [[nodiscard]] std::optional<std::int64_t> stated_tests(const Totals& root) const {
        return std::max(root[tests], stated()[tests]);
    }

    void set_closing(const Totals& root, bool broken_off) {
        const Totals suites = stated();
        const auto of_file = stated_tests(root);
        if (broken_off) record_.collected = std::max(record_.collected, of_file.value_or(0));
        if (!of_file && !record_.cases.empty())
            diagnose(offset_, "it states no totals that its tests could be held to");
        if (!of_file) return;
        if (writer_ == JunitWriter::mocha && *of_file > record_.collected)
            diagnose(offset_, fmt::format("its suites declare {} tests and {} are in it: the "
                                          "others did not run (a hook that broke, --grep, --bail)",
                                          *of_file, record_.collected));
        FrameworkSummary& closing = record_.closing.emplace();
        for (size_t i = 0; i < kTotalWords.size(); ++i) {
            if (root[i]) closing.counts.emplace_back(kTotalWords[i], *root[i]);
            if (suites[i] && suites[i] != root[i])
                closing.counts.emplace_back(kTotalWords[i], *suites[i]);
        }
        for (const auto& [word, count] : closing.counts)
            closing.text += fmt::format("{}{}={}", closing.text.empty() ? "" : " ", word, count);
        // The rules of runner/analysis/accounting.h are those of the other writers.
        if (!broken_off && totals_agree(writer_, root, record_.cases) &&
            totals_agree(writer_, suites, record_.cases))
            record_.closing.reset();
    }

    JunitWriter writer_;
    std::string stem_;
    ModuleRecord record_;
    std::optional<Totals> suites_;
    int hosts_ = 0;  // suites that name one
    size_t offset_ = 0;
    GoogletestUnwritten unwritten_;
    CountedFailures counted_;
    std::unordered_map<std::string, Last> last_;  // by id without a "#2"
};

// The file as UTF-8 without NULs, which XML forbids; in `own` where it is not so already. UTF-16
// import converts before (runner/archive/imported/input_decoder.h).
std::string_view xml_text(std::string_view bytes, std::string& own, Diagnoser& diagnose) {
    static const RE2 kDeclared(R"((?s)\s*<\?xml [^>]*encoding=["']([^"']*)["'].*)", RE2::Latin1);
    static const RE2 kLatin1("(?i)(iso-8859|latin)-?1");
    // A file that declares UTF-16 and is in bytes was converted by someone who left the words.
    static const RE2 kUtf8("(?i)(utf-?8|us-ascii|utf-16)?");
    std::string encoding;
    RE2::FullMatch(std::string(bytes.substr(0, 200)), kDeclared, &encoding);
    if (RE2::FullMatch(encoding, kLatin1)) {
        for (const char c : bytes) {
            const auto byte = static_cast<unsigned char>(c);
            if (byte >= 0x80) own += static_cast<char>(0xC0 | byte >> 6);
            own += byte >= 0x80 ? static_cast<char>(0x80 | (byte & 0x3F)) : c;
        }
    } else if (!RE2::FullMatch(encoding, kUtf8)) {
        diagnose.add(0, "the encoding " + valid_utf8(encoding) + " is read as UTF-8");
    }
    if (const size_t nul = bytes.find('\0'); nul != std::string_view::npos) {
        if (own.empty()) own = bytes;
        std::replace(own.begin(), own.end(), '\0', ' ');
        diagnose.add(nul, "NULs, read as blanks");
    }
    return own.empty() ? bytes : own;
}

// The whole file, in its order and without recursion: hostile files nest as deep as they are long.
class Document : public pugi::xml_tree_walker {
  public:
    Document(pugi::xml_document& document, const ResultFile& file, const SeePart& see,
             Diagnoser& diagnose)
        : document_(document), file_(file), see_(see), diagnose_(diagnose) {}

    void load() {
        // The text outlives the document's own copy of it, which the parser cuts into pieces.
        std::string own;
        const std::string_view text = xml_text(file_.bytes, own, diagnose_);
        const pugi::xml_parse_result result =
            document_.load_buffer(text.data(), text.size(), kParsing, pugi::encoding_utf8);
        if (result.status == pugi::status_ok || result.status == pugi::status_no_document_element)
            return;
        // At the end of the text the parser gives its last character.
        size_t end = static_cast<size_t>(std::max<std::ptrdiff_t>(result.offset, 0));
        if (end + 1 >= text.size()) end = text.size();
        break_ = {std::min(end, file_.bytes.size()),
                  fmt::format("the file breaks off here ({})", result.description())};
        open_ = open_in(text.substr(0, end));
        if (open_.name() == kTest)
            break_->message += ", inside the test " + valid_utf8(junit_attribute(open_, "name"));
    }

    void read() {
        document_.traverse(*this);
        // A report of no suite at all is one of no tests.
        if (!root_ && empty_root_) begin_suite(empty_root_.append_child("testsuite"), 0);
        if (!root_) diagnose_.add(0, "there is no <testsuite> in it");
        if (break_ && part_) part_->diagnose(break_->offset, break_->message);
        if (break_ && !part_) diagnose_.add(break_->offset, break_->message);
        hand_on(break_.has_value(), parts_of_root_ > 1);
        end_root();
    }

    bool for_each(xml_node& node) override {
        if (depth() <= suite_depth_) suite_depth_ = kNowhere;
        if (depth() <= kept_depth_) kept_depth_ = kNowhere;
        if (depth() <= totals_depth_) totals_depth_ = kNowhere;
        const std::string_view name = node.name();
        if (depth() > kept_depth_) {
            const bool child = in_test_ && depth() == kept_depth_ + 1 && !name.empty();
            if (child && !is_junit_child(name)) note_unknown(node, name);
        } else if (node != open_ && name == kSuite) {
            if (suite_depth_ == kNowhere)
                begin_suite(node, depth());
            else if (depth() <= totals_depth_ && part_->add_totals(node))
                totals_depth_ = depth();
            if (auto row = break_ ? std::nullopt : unloaded_file(node))
                part_->add_unloaded(std::move(*row));
        } else if (name == kSuites) {
            empty_root_ = node;
        } else {
            kept_depth_ = depth();
            in_test_ = name == kTest && node != open_;
            if (in_test_)
                add_test(node);
            else if (node != open_ &&
                     std::find(kNotTests.begin(), kNotTests.end(), name) == kNotTests.end())
                note_unknown(node, name.empty() ? trimmed(node.value()) : name);
        }
        return true;
    }

  private:
    static constexpr int kNowhere = std::numeric_limits<int>::max() - 1;

    struct Break {
        size_t offset;
        std::string message;
    };

    // The offset of its "<". In a file in ISO-8859-1, about there.
    [[nodiscard]] size_t offset_of(xml_node node) const {
        const bool named = node.type() == pugi::node_element;
        const auto offset = std::max<std::ptrdiff_t>(node.offset_debug() - (named ? 1 : 0), 0);
        return std::min(static_cast<size_t>(offset), file_.bytes.size());
    }

    // The element that was open at the text's end is the last child, and so on down.
    [[nodiscard]] xml_node open_in(std::string_view text) const {
        // Values may hold anything but their own quote.
        static const RE2 kTag(R"((?:[^"'>]|"[^"]*"|'[^']*')*>)", RE2::Latin1);
        for (xml_node node = document_.last_child(); node; node = node.last_child()) {
            if (node.offset_debug() < 0) break;
            const size_t begin = std::min(static_cast<size_t>(node.offset_debug()), text.size());
            re2::StringPiece rest(text.data() + begin, text.size() - begin);
            if (!RE2::Consume(&rest, kTag)) return node;
            if (node.name() != kTest) continue;
            const bool whole =
                rest.data()[-2] == '/' || rest.find("</testcase>") != re2::StringPiece::npos;
            return whole ? xml_node() : node;
        }
        return {};
    }

    // Text beside the document, other documents, a suite's own failure.
    void note_unknown(xml_node node, std::string_view what) {
        if (what.empty()) return;
        const bool element = node.type() == pugi::node_element;
        diagnose_.add(offset_of(node),
                      fmt::format("{} of no known kind: {}", element ? "an element" : "text",
                                  valid_utf8(what.substr(0, 80))));
    }

    void begin_suite(xml_node suite, int at_depth) {
        suite_depth_ = at_depth;
        const xml_node root = suite.parent().name() == kSuites ? suite.parent() : suite;
        const JunitWriter writer = writer_of(suite);
        const bool a_run_each = writer == JunitWriter::pytest || writer == JunitWriter::ctest;
        if (!part_ || a_run_each || writer != part_->writer() || root != root_) {
            hand_on(false, root == root_ || parts_of_root_ > 1);
            if (root != root_) {
                end_root();
                if (root != suite) note_no_counts(root);
            }
            root_ = root;
            begin_part(writer);
        }
        totals_depth_ = part_->begin_suite(suite, offset_of(suite)) ? at_depth : kNowhere;
        note_no_counts(suite);
    }

    void note_no_counts(xml_node node) {
        for (const std::string_view word : kTotalWords) {
            const std::string_view stated = junit_attribute(node, word.data());
            if (stated.empty() || stated_count(node, word.data())) continue;
            diagnose_.add(offset_of(node),
                          fmt::format("{}=\"{}\" is no count: nothing is held to it", word,
                                      valid_utf8(stated.substr(0, 40))));
        }
    }

    void add_test(xml_node element) {
        if (suite_depth_ == kNowhere) begin_suite(element.parent(), depth() - 1);
        // An interrupted pytest writes one for the test that was running, which no total counts.
        if (part_->writer() == JunitWriter::pytest && !element.attribute("name") &&
            !element.attribute("classname") && !element.first_child())
            return diagnose_.add(offset_of(element), "a test without a name; it is left out");
        part_->add_test(element);
    }

    void begin_part(JunitWriter writer) {
        ++parts_of_root_;
        part_.emplace(writer, stem_of(file_.name));
        if (writer != JunitWriter::pytest && root_.name() == kSuites) part_->take_origin(root_);
    }

    // `of_several`: the root's totals are of other parts, too.
    void hand_on(bool broken_off, bool of_several) {
        if (!part_) return;
        of_parts_ = sum(of_parts_, part_->stated());
        see_(part_->finish(broken_off, of_several ? Totals{} : stated_by(root_)));
        part_.reset();
    }

    // The totals of a root with several parts are those of none of them.
    void end_root() {
        const Totals totals = stated_by(root_);
        for (size_t i = 0; i < kTotalWords.size() && parts_of_root_ > 1; ++i)
            if (totals[i] && (*of_parts_)[i] && *totals[i] != *(*of_parts_)[i])
                diagnose_.totals_differ(
                    0, fmt::format("{}: {} by the file as a whole, {} by its suites",
                                   kTotalWords[i], *totals[i], *(*of_parts_)[i]));
        parts_of_root_ = 0;
        of_parts_.reset();
    }

    pugi::xml_document& document_;
    const ResultFile& file_;
    const SeePart& see_;
    Diagnoser& diagnose_;
    std::optional<Break> break_;  // where the file breaks off
    xml_node open_;               // that it is in the middle of
    int suite_depth_ = kNowhere;  // of the outermost one that the walk is in
    int totals_depth_ = kNowhere;  // of the suite around that states totals
    int kept_depth_ = kNowhere;   // of the test, or of what is not kept, that it is in
    bool in_test_ = false;
    xml_node root_;  // of the part: the <testsuites> around it, else the suite itself
    int parts_of_root_ = 0;
    std::optional<Totals> of_parts_;  // of the root's parts so far
    xml_node empty_root_;             // a <testsuites>, in case that it has no suite
    std::optional<Part> part_;
};

}  // namespace

std::vector<Diagnostic> read_junit_xml(const ResultFile& file, const SeePart& see) {
    std::vector<Diagnostic> diagnostics;
    Diagnoser diagnose("log", diagnostics);
    pugi::xml_document document;
    Document reader(document, file, see, diagnose);
    reader.load();
    reader.read();
    return diagnostics;
}

std::vector<Diagnostic> read_junit_document(pugi::xml_document& document, const ResultFile& file,
                                            const SeePart& see) {
    std::vector<Diagnostic> diagnostics;
    Diagnoser diagnose("log", diagnostics);
    Document(document, file, see, diagnose).read();
    return diagnostics;
}

// Such a file may hold the text of any other dialect in its <system-out>: its beginning decides.
int junit_xml_likeness(std::string_view beginning, std::string_view) {
    std::string text(beginning);
    std::erase(text, '\0');  // of UTF-16
    static const RE2 kBegins("(?s)(?:\xEF\xBB\xBF|\xFF\xFE|\xFE\xFF)?\\s*(?:<.*)?<testsuite.*",
                             RE2::Latin1);
    return RE2::FullMatch(text, kBegins) ? kCertain : 0;
}

}  // namespace compat::parsers
