#include "tests/support/failures.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "parsers/diagnosis/traceback.h"

namespace compat::test {

using parsers::Failure;
using parsers::Frame;

namespace {

constexpr int kMostFrames = 40;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Calls `use(piece, kind)` for each word, number ('w', '0') and byte between them (itself).
template <class Use>
void each_piece(std::string_view text, Use use) {
    for (size_t i = 0; i < text.size();) {
        size_t end = i + 1;
        char kind = text[i];
        if (is_letter(text[i])) {
            kind = 'w';
            while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
        } else if (is_digit(text[i])) {
            kind = '0';
            while (end < text.size() && is_digit(text[end])) ++end;
        }
        use(text.substr(i, end - i), kind);
        i = end;
    }
}

Sample sample_of(const nlohmann::json& json) {
    std::string text;
    const auto traceback = json.value("traceback", nlohmann::json());
    if (traceback.is_array())
        for (const auto& line : traceback) text += line.get<std::string>() + "\n";
    else if (traceback.is_string())
        text = traceback;
    Sample sample{parsers::parse_traceback(text), parsers::State::errored, json.value("cause", ""),
                  json.value("not", "")};
    if (json.contains("type")) {
        sample.failure.type = json["type"];
        sample.failure.message = json.value("message", "");
        sample.failure.frames.clear();
        for (const auto& frame : json.value("frames", nlohmann::json::array()))
            sample.failure.frames.push_back({frame.at(0), frame.at(1), frame.at(2)});
    }
    const std::string status = json.value("status", "");
    sample.state = status == "FAIL" ? parsers::State::failed
                                    : parsers::state_of(status).value_or(parsers::State::errored);
    return sample;
}

}  // namespace

bool Sample::agrees(parsers::Cause found) const {
    return fmt::format("|{}|", cause).find(fmt::format("|{}|", name_of(found))) !=
           std::string::npos;
}

std::vector<Sample> read_failures(const std::filesystem::path& jsonl) {
    std::ifstream in(jsonl);
    if (!in) throw std::runtime_error("cannot read " + jsonl.string());
    std::vector<Sample> samples;
    for (std::string line; std::getline(in, line);)
        samples.push_back(sample_of(nlohmann::json::parse(line)));
    return samples;
}

VariedFailures::VariedFailures(const std::vector<Sample>& samples, std::uint64_t seed)
    : samples_(samples), random_(seed), frames_{{"/x/tests/test_a.py", 1, "test_a"}} {
    for (const Sample& sample : samples) {
        each_piece(sample.failure.message, [&](std::string_view piece, char kind) {
            if (kind == 'w') words_.emplace_back(piece);
        });
        frames_.insert(frames_.end(), sample.failure.frames.begin(), sample.failure.frames.end());
    }
}

bool VariedFailures::chance(int percent) {
    return random_() % 100 < static_cast<unsigned>(percent);
}

template <class T>
const T& VariedFailures::any(const std::vector<T>& of) {
    return of[random_() % of.size()];
}

std::string VariedFailures::number() {
    const std::uint64_t wide = random_();
    return std::to_string(wide % (std::uint64_t{1} << (1 + wide % 40)));
}

std::string VariedFailures::word() {
    if (!words_.empty() && chance(50)) return any(words_);
    std::string word;
    for (auto letters = 2 + random_() % 12; letters > 0; --letters)
        word += "abcdefghijklmnopqrstuvwxyz_eationrs"[random_() % 35];
    return word;
}

std::string VariedFailures::varied(std::string_view text) {
    std::string out;
    char before = ' ';
    each_piece(text, [&](std::string_view piece, char kind) {
        const bool name = before == '\'' || before == '"' || before == '/' || before == '`';
        if (kind == '0')
            out += number();
        else if (kind == 'w' && chance(name ? 40 : 12))
            out += word();
        else
            out += piece;
        before = piece.back();
    });
    return out;
}

Frame VariedFailures::frame() {
    const Frame& like = any(frames_);
    return {chance(50) ? varied(like.file) : like.file, static_cast<int>(random_() % 5000),
            chance(50) ? word() : like.function};
}

std::string VariedFailures::traceback(const Failure& failure) {
    std::string text = "Traceback (most recent call last):\n";
    for (const Frame& frame : failure.frames) {
        text += fmt::format("  File \"{}\", line {}, in {}\n    ", frame.file, frame.line,
                            frame.function);
        for (auto words = 1 + random_() % 8; words > 0; --words) text += word() + " (."[words % 3];
        text += '\n';
    }
    return text + failure.first_line() + "\n";
}

Sample VariedFailures::next() {
    while (true) {
        Sample sample = any(samples_);
        Failure& failure = sample.failure;
        if (chance(10)) failure.type = any(samples_).failure.type;
        failure.message = varied(failure.message);
        if (chance(30))
            failure.message += fmt::format(" ({}, {}, {})", number(), number(), number());
        for (Frame& own : failure.frames) own.line = static_cast<int>(random_() % 5000);
        std::vector<Frame> outer;
        for (auto depth = random_() % kMostFrames; depth > 0; --depth) outer.push_back(frame());
        failure.frames.insert(failure.frames.begin(), outer.begin(), outer.end());
        std::string before;
        if (chance(20)) {
            Failure other = any(samples_).failure;
            other.message = varied(other.message);
            before = traceback(other) +
                     (chance(50) ? "\nThe above exception was the direct cause of the following "
                                   "exception:\n\n"
                                 : "\nDuring handling of the above exception, another exception "
                                   "occurred:\n\n");
        }
        failure.traceback = before + traceback(failure);
        if (made_.insert(std::hash<std::string>()(failure.traceback)).second) return sample;
    }
}

}  // namespace compat::test
