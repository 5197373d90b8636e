// A set finds what each of its expressions finds alone, whatever the text.
#include "parsers/diagnosis/pattern_set.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "parsers/diagnosis/diagnose.h"
#include "tests/paths.h"
#include "tests/support/failures.h"

namespace compat::parsers::pattern_set_test {
namespace {

struct Compared {
    PatternSet set;
    std::vector<std::unique_ptr<RE2>> alone;
    int found = 0;

    explicit Compared(const std::vector<std::string>& patterns) {
        for (const std::string& pattern : patterns) {
            EXPECT_EQ(set.add(pattern), alone.size());
            alone.push_back(std::make_unique<RE2>(pattern, RE2::Latin1));
        }
        EXPECT_TRUE(set.compile());
    }
    void look(const std::string& text) {
        const PatternSet::Search search(set, text);
        for (size_t i = 0; i < alone.size(); ++i) {
            const bool expected = RE2::PartialMatch(text, *alone[i]);
            EXPECT_EQ(search.finds(i), expected) << alone[i]->pattern() << "\nin " << text;
            found += expected;
        }
    }
};

TEST(PatternSet, FindsWhateverItsWordsAre) {
    Compared none({});
    none.look("text");
    Compared odd({"(?i)Out of MEMORY", "[0-9]+$", "", "a|bc", "^\\S*(Error|Timeout)", "\xE9t\xE9",
                  "(?s).", "(?i:no such)-?(file|folder)", "x{3,}", "\\bé\\b"});
    for (const char* text :
         {"", "out OF memory", "7", "a", "B", "ReadTIMEOUT ReadTimeout", "\xE9t\xE9 \xFF",
          "No such-FOLDER", "xxxxxxx", "\n\n", "été", "no SUCH file 12"})
        odd.look(text);
    odd.look(std::string("\0out of memory\0", 15));
    EXPECT_GT(odd.found, 20);
}

TEST(PatternSet, SaysWhatIsWrong) {
    PatternSet set;
    EXPECT_THROW((void)set.add("(a"), std::invalid_argument);
    EXPECT_EQ(set.add("a"), 0U);
}

// The rules' own expressions, on failures of all kinds and on others made of them.
TEST(PatternSet, FindsWhatTheRulesFindAlone) {
    std::vector<std::string> patterns;
    for (const Rule& rule : Rules::shipped().all())
        for (const std::string& pattern : {rule.text, rule.at})
            if (!pattern.empty()) patterns.push_back(pattern);
    Compared rules(patterns);
    const auto look = [&](const Failure& failure) {
        rules.look(failure.type + ": " + failure.message);
        rules.look(failure.traceback);
    };
    const auto samples =
        test::read_failures(COMPAT_SOURCE_DIR "/tests/parsers/labelled_failures.jsonl");
    for (const test::Sample& sample : samples) look(sample.failure);
    for (const Rule& rule : Rules::shipped().all())
        for (const auto& example : rule.examples) look(example.failure);
    test::VariedFailures varied(samples, 2);
    for (int i = 0; i < 300; ++i) look(varied.next().failure);
    EXPECT_GT(rules.found, 1000);
}

}  // namespace
}  // namespace compat::parsers::pattern_set_test
