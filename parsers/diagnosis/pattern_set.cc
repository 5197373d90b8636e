#include "parsers/diagnosis/pattern_set.h"

#include <stdexcept>

namespace compat::parsers {

namespace {

// Bytes for one expression's automaton, and for that of all words (a state for each byte).
constexpr std::int64_t kPatternMemory = 1 << 20;
constexpr std::int64_t kWordsMemory = 16 << 20;

RE2::Options options(std::int64_t memory) {
    RE2::Options options;
    options.set_max_mem(memory);
    options.set_log_errors(false);
    options.set_encoding(RE2::Options::EncodingLatin1);
    return options;
}

}  // namespace

size_t PatternSet::add(const std::string& pattern) {
    int index = 0;
    if (patterns_.Add(pattern, options(kPatternMemory), &index) != RE2::NoError)
        throw std::invalid_argument(RE2(pattern, options(kPatternMemory)).error());
    return static_cast<size_t>(index);
}

bool PatternSet::compile() {
    if (patterns_.NumRegexps() == 0) return true;
    std::vector<std::string> words;
    patterns_.Compile(&words);
    // FilteredRE2 gives them in lower case and wants them found in any.
    RE2::Options any_case = options(kWordsMemory);
    any_case.set_literal(true);
    any_case.set_case_sensitive(false);
    words_ = std::make_unique<RE2::Set>(any_case, RE2::UNANCHORED);
    for (const std::string& word : words)
        if (words_->Add(word, nullptr) < 0) return false;
    return words_->Compile();
}

PatternSet::Search::Search(const PatternSet& set, std::string_view text)
    : set_(set), text_(text), may_(static_cast<size_t>(set.patterns_.NumRegexps()), 0) {
    if (!set.words_) return;
    std::vector<int> seen;
    std::vector<int> candidates;
    set.words_->Match(text, &seen);
    set.patterns_.AllPotentials(seen, &candidates);
    for (const int index : candidates) may_[static_cast<size_t>(index)] = 1;
}

bool PatternSet::Search::finds(size_t index) const {
    return may_[index] && RE2::PartialMatch(text_, set_.pattern(index));
}

}  // namespace compat::parsers
