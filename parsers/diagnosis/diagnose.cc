#include "parsers/diagnosis/diagnose.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "parsers/diagnosis/pattern_set.h"
#include "parsers/diagnosis/place.h"
#include "parsers/diagnosis/traceback.h"
#include "parsers/text.h"
#include "rules_json.h"
#include "runner/base/names.h"

namespace compat::parsers {

namespace {

using Json = nlohmann::json;

// The beginning and the end of a message, which a rule may see, whatever its length.
constexpr size_t kHeadBytes = 2 * 1024;
constexpr size_t kTailBytes = 1024;
constexpr size_t kKeyLineBytes = 500;
constexpr size_t kFrames = 12;

std::string ends_of(std::string_view text) {
    if (text.size() <= kHeadBytes + kTailBytes) return std::string(text);
    return fmt::format("{}\n{}", first_bytes(text, kHeadBytes), last_bytes(text, kTailBytes));
}

std::string words_of(const Failure& failure) {
    const bool both = !failure.type.empty() && !failure.message.empty();
    return failure.type + (both ? ": " : "") + ends_of(failure.message);
}

std::string frames_of(const Failure& failure) {
    std::string lines;
    size_t count = 0;
    for (auto it = failure.frames.rbegin(); it != failure.frames.rend() && count < kFrames;
         ++it, ++count)
        lines.append(place_of(it->file).text()).append(1, ':').append(it->function) += '\n';
    return lines;
}

// The messages of a traceback's chained exceptions but the last: lines that begin in the first
// column and look like "package.Type: message", as Python and pytest ("E   ") print them.
std::string chained_exceptions(const Failure& failure) {
    static const RE2 exception(
        R"(^(?:E +)?([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning|Failed)\b.*))");
    const std::string own = failure.first_line();
    std::string lines;
    for (Lines text(failure.traceback); text.next() && lines.size() < kHeadBytes;) {
        if (text.line().starts_with(' ')) continue;  // most lines: not worth a regular expression
        const std::string_view line = first_bytes(text.line(), kTailBytes);
        re2::StringPiece words;
        if (RE2::PartialMatch(line, exception, &words) && words != own)
            lines.append(words.data(), words.size()) += '\n';
    }
    return lines;
}

Confidence weaker(Confidence c) {
    return c == Confidence::low ? c : static_cast<Confidence>(static_cast<int>(c) - 1);
}

template <class Named>
auto named(Named of, const Json& value) {
    const auto word = value.get<std::string>();
    if (const auto found = of(word)) return *found;
    throw std::invalid_argument(fmt::format("there is no \"{}\"", word));
}

Rule::Example example_of(const Json& fields) {
    Rule::Example example;
    example.failure.type = fields.value("type", "");
    example.failure.message = fields.value("message", "");
    example.failure.traceback = fields.value("traceback", "");
    // Innermost first, as rules see them.
    const Json frames = fields.value("frames", Json::array());
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
        example.failure.frames.push_back({frame->at(0), 1, frame->at(1)});
    if (fields.contains("state")) example.state = named(state_of, fields["state"]);
    return example;
}

constexpr std::string_view kNoNetwork = "no-network";

bool holds_in(const Rule& rule, const Isolation& isolation) {
    return rule.isolation.empty() ||
           (isolation.sandbox && (rule.isolation != kNoNetwork || !isolation.network));
}

Rule rule_of(const Json& fields) {
    Rule rule;
    rule.id = fields.at("id");
    rule.cause = named(cause_of, fields.at("cause"));
    if (fields.contains("class")) rule.error_class = named(error_class_of, fields["class"]);
    rule.confidence = named(confidence_of, fields.at("confidence"));
    rule.text = fields.value("text", "");
    rule.at = fields.value("at", "");
    rule.statement = fields.value("statement", "");
    for (const Json& state : fields.value("states", Json::array()))
        rule.states.push_back(named(state_of, state));
    rule.isolation = fields.value("isolation", "");
    if (!rule.isolation.empty() && rule.isolation != "sandbox" && rule.isolation != kNoNetwork)
        throw std::invalid_argument(fmt::format("there is no \"{}\"", rule.isolation));
    rule.generated_instead_of = fields.value("generated_instead_of", std::vector<std::string>());
    rule.not_text = fields.value("not_text", "");
    rule.not_statement = fields.value("not_statement", "");
    rule.bare = fields.value("bare", "");
    rule.short_line = fields.value("short", false);
    rule.last_resort = fields.value("last_resort", false);
    rule.meaning = fields.at("meaning");
    for (const Json& example : fields.at("examples")) rule.examples.push_back(example_of(example));
    if (rule.examples.empty()) throw std::invalid_argument("it has no example");
    return rule;
}

}  // namespace

// Facts that a rule may ask for beside the failure's words.
struct Rules::Asked {
    PatternSet::Search frames;
    std::string_view traceback;
    State state;
    const Isolation& isolation;
};

const Rule* Rules::first(std::string_view words, const Asked& asked, bool by_text) const {
    const PatternSet::Search texts(texts_, words);
    const bool is_short = std::min(words.find('\n'), words.size()) <= kShortLineBytes;
    const auto found = std::ranges::find_if(rules_, [&](const Rule& rule) {
        const auto at = static_cast<size_t>(&rule - rules_.data());
        if (!holds_in(rule, asked.isolation) || (rule.short_line && !is_short) ||
            !rule.generated_instead_of.empty())
            return false;
        if (by_text && (rule.text.empty() || !rule.statement.empty() || rule.last_resort))
            return false;
        if (!rule.states.empty() && std::ranges::count(rule.states, asked.state) == 0) return false;
        return (rule.at.empty() || asked.frames.finds(at)) &&
               (rule.text.empty() || texts.finds(at)) &&
               (rule.statement.empty() ||
                PatternSet::Search(statements_, failing_source(asked.traceback)).finds(at));
    });
    return found == rules_.end() ? nullptr : &*found;
}

std::string_view Rules::line_of(const Rule& rule, std::string_view words) const {
    re2::StringPiece hit;
    const RE2& text = texts_.pattern(static_cast<size_t>(&rule - rules_.data()));
    if (rule.text.empty() || !text.Match(words, 0, words.size(), RE2::UNANCHORED, &hit, 1))
        return {};
    const std::string_view before = words.substr(0, static_cast<size_t>(hit.data() - words.data()));
    const size_t begin = before.rfind('\n') + 1;  // npos + 1: the first line
    return trimmed(words.substr(begin, words.find('\n', begin) - begin));
}

const Rule* Rules::find(std::string_view id) const {
    const auto found = std::ranges::find(rules_, id, &Rule::id);
    return found == rules_.end() ? nullptr : &*found;
}

Expected<Rules> Rules::parse(std::string_view json) {
    Rules rules;
    std::string where = "rules";
    try {
        const Json file = Json::parse(json, nullptr, true, true);
        for (const Json& entry : file.at("rules")) {
            where = entry.at("id");
            const Rule& rule = rules.rules_.emplace_back(rule_of(entry));
            rules.texts_.add(rule.text);
            rules.places_.add(rule.at);
            rules.statements_.add(rule.statement);
            rules.not_texts_.add(rule.not_text);
            rules.not_statements_.add(rule.not_statement);
            rules.bare_.add(rule.bare);
        }
    } catch (const std::exception& error) {
        return fail(ErrorKind::usage, fmt::format("bad rule: {}", error.what()), "", where);
    }
    PatternSet* const sets[] = {&rules.texts_,     &rules.places_,         &rules.statements_,
                                &rules.not_texts_, &rules.not_statements_, &rules.bare_};
    if (!std::ranges::all_of(sets, [](PatternSet* set) { return set->compile(); }))
        return fail(ErrorKind::usage, "the rules take too much memory", "");
    return rules;
}

const Rules& Rules::shipped() {
    static const Rules rules = parse(kRulesJson).value();  // a test parses them
    return rules;
}

namespace {

// The output of another process tells more than the text that repeats it, but for how that
// process ended. An assertion is the test's own word: only a rule that knows the text overrides it.
bool tells_more(const Diagnosis& inner, bool is_last_resort, const Failure& outer,
                const Diagnosis& own) {
    if (inner.rule.empty() || own.cause == Cause::crash || own.cause == Cause::timeout)
        return false;
    static const RE2 assertion(R"(\A(AssertionError|Failed|Failure)\z)");
    return !RE2::PartialMatch(outer.type, assertion) ||
           (!is_last_resort && reports_exit(outer.message));
}

}  // namespace

Diagnosis Rules::diagnose(const Failure& failure, State state, const Isolation& isolation,
                          bool generated) const {
    Diagnosis diagnosis = diagnose_by_text(failure, state, isolation);
    if (!generated) return diagnosis;
    const auto instead = std::ranges::find_if(
        rules_, [&](const Rule& rule) { return takes_place(rule, diagnosis, failure); });
    if (instead == rules_.end()) return diagnosis;
    diagnosis.cause = instead->cause;
    diagnosis.error_class = instead->error_class;
    diagnosis.confidence = std::min(instead->confidence, diagnosis.confidence);
    diagnosis.rule = instead->id;
    return diagnosis;
}

bool Rules::takes_place(const Rule& rule, const Diagnosis& of, const Failure& failure) const {
    if (std::ranges::count(rule.generated_instead_of, of.rule) == 0) return false;
    const auto at = static_cast<size_t>(&rule - rules_.data());
    const std::string words = words_of(failure);
    const std::string_view statement = failing_source(failure.traceback);
    const auto finds = [&](const PatternSet& set, const std::string& pattern,
                           std::string_view text) {
        return !pattern.empty() && PatternSet::Search(set, text).finds(at);
    };
    if (finds(not_texts_, rule.not_text, words) ||
        finds(not_statements_, rule.not_statement, statement))
        return false;
    return !finds(bare_, rule.bare, words) || finds(statements_, rule.statement, statement);
}

std::optional<Cause> Rules::cause_without_generated(std::string_view rule) const {
    const Rule* blamed = find(rule);
    if (!blamed || blamed->generated_instead_of.empty()) return std::nullopt;
    const Rule* instead_of = find(blamed->generated_instead_of.front());
    return instead_of ? std::optional(instead_of->cause) : std::nullopt;
}

Diagnosis Rules::diagnose_by_text(const Failure& failure, State state,
                                  const Isolation& isolation) const {
    Diagnosis own = diagnose_itself(failure, state, isolation);
    const auto inner = embedded_traceback(failure.message);
    if (!inner) return own;
    Diagnosis other = diagnose_itself(*inner, State::errored, isolation);
    const Rule* rule = find(other.rule);
    if (!tells_more(other, !rule || rule->last_resort, failure, own)) return own;
    other.confidence = weaker(other.confidence);
    return other;
}

Diagnosis Rules::diagnose_itself(const Failure& failure, State state,
                                 const Isolation& isolation) const {
    const std::string words = words_of(failure);
    const std::string frames = frames_of(failure);
    const Asked asked{{places_, frames}, failure.traceback, state, isolation};
    const Rule* rule = first(words, asked, false);
    const bool direct = raised_from_another(failure.traceback);
    const bool expected = rule && rule->cause == Cause::suite_assertion;
    // An assertion is one whatever was handled before it.
    const bool settled = rule && !rule->last_resort;
    const std::string chained =
        settled || (expected && !direct) ? std::string() : chained_exceptions(failure);
    const Rule* other = chained.empty() ? nullptr : first(chained, asked, true);
    if (other) rule = other;

    Diagnosis diagnosis;
    if (rule) {
        diagnosis = {.cause = rule->cause,
                     .error_class = rule->error_class,
                     .confidence = rule->confidence,
                     .rule = rule->id};
        if (other) diagnosis.confidence = direct ? weaker(rule->confidence) : Confidence::low;
        // A first line that only announces ("… because of the following error:") gives way.
        if (other || failure.first_line().ends_with(':'))
            diagnosis.key_line = line_of(*rule, other ? chained : words);
    }
    if (diagnosis.key_line.empty()) diagnosis.key_line = failure.first_line();
    diagnosis.key_line = valid_utf8(first_bytes(diagnosis.key_line, kKeyLineBytes));
    return diagnosis;
}

}  // namespace compat::parsers
