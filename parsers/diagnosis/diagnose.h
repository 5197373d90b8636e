// Why a test failed, as far as its text tells: rules that are data (rules.json), each with examples
// that a test runs. Rules know texts of torch, its back ends, Python, pytest, the hub, and whose
// code a frame is; never a suite's, a module's or a test's name. Not for telling failures apart
// (signature.h) nor for what other runs say of the same test (runner/analysis).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/diagnosis/pattern_set.h"
#include "parsers/record.h"
#include "runner/base/error.h"

namespace compat::parsers {

inline constexpr std::size_t kShortLineBytes = 200;

// `text`, `at` and `statement` are RE2; empty: any. `text` is looked for in the exception's type
// and message, and, where only a rule of last resort holds, in those of the exceptions that are
// chained to it. `at` is looked for in one line a frame, innermost first, at most 12:
// "torch:autograd/__init__.py:backward" (place.h). `statement` is looked for in that of the suite's
// in which the traceback ended (traceback.h).
struct Rule {
    struct Example {
        Failure failure;
        State state = State::errored;
    };
    std::string id;
    Cause cause = Cause::unknown;
    std::optional<ErrorClass> error_class;
    Confidence confidence = Confidence::medium;
    std::string text, at, statement;
    std::vector<State> states;  // empty: any
    std::string isolation;      // "sandbox", or "no-network" in a sandbox; empty: any child
    // Ids of rules of one cause, after which this one is asked if the test used something that the
    // hub had generated; empty: it is one of the rules in their order.
    std::vector<std::string> generated_instead_of;
    // For such a rule: failures that it leaves alone, by their text or the failed statement; and
    // texts that show no value of a model's, for which the failed statement must hold `statement`.
    std::string not_text, not_statement, bare;
    bool short_line = false;   // the exception's first line has kShortLineBytes at most
    bool last_resort = false;  // gives way to what an exception chained before says
    std::string meaning;       // one sentence, for readers of a report
    std::vector<Example> examples;
};

// Rules in the order of their file: of those that hold the first decides. A message that holds
// another process's traceback is diagnosed by that.
class Rules {
  public:
    // Errors: bad rules, naming the rule.
    [[nodiscard]] static Expected<Rules> parse(std::string_view json);
    // Those in rules.json, which is part of the program.
    [[nodiscard]] static const Rules& shipped();

    // `generated`: the test used something that the hub had generated.
    [[nodiscard]] Diagnosis diagnose(const Failure& failure, State state,
                                     const Isolation& isolation = {}, bool generated = false) const;
    // The cause that such a failure has if nothing generated is to blame for it. Empty: the rule
    // blames nothing generated.
    [[nodiscard]] std::optional<Cause> cause_without_generated(std::string_view rule) const;
    [[nodiscard]] const std::vector<Rule>& all() const { return rules_; }
    // Null: there is none.
    [[nodiscard]] const Rule* find(std::string_view id) const;

  private:
    struct Asked;
    [[nodiscard]] Diagnosis diagnose_by_text(const Failure& failure, State state,
                                             const Isolation& isolation) const;
    // By what the failure itself says, whatever other process's output stands in it.
    [[nodiscard]] Diagnosis diagnose_itself(const Failure& failure, State state,
                                            const Isolation& isolation) const;
    // Whether such a rule takes the place of the one that the text alone gives.
    [[nodiscard]] bool takes_place(const Rule& rule, const Diagnosis& of,
                                   const Failure& failure) const;
    // The first that holds; null: none does. `by_text`: only by its text, and none of last resort.
    [[nodiscard]] const Rule* first(std::string_view words, const Asked& asked, bool by_text) const;
    // The line of `words` in which the rule's text begins.
    [[nodiscard]] std::string_view line_of(const Rule& rule, std::string_view words) const;

    std::vector<Rule> rules_;
    // One expression for each rule, at its place; empty if it has none.
    PatternSet texts_, places_, statements_, not_texts_, not_statements_, bare_;
};

}  // namespace compat::parsers
