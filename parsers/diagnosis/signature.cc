#include "parsers/diagnosis/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "parsers/diagnosis/place.h"
#include "parsers/text.h"
#include "runner/base/names.h"

namespace compat::parsers {

namespace {

// The first that matches at the leftmost place wins; each is one group of the pattern below.
struct Mask {
    const char* pattern;
    std::string_view instead;
};
constexpr std::array<Mask, 9> kMasks{{
    {R"(\bhttps?://[^\s'"<>)\]]+)", "<url>"},
    {R"(\B(?:~|\.{0,2})(?:/[\w.@+~%=-]+){2,}/?)", "<path>"},
    {R"(\b[A-Za-z]:(?:[\\/][\w.@+~%=-]+){2,})", "<path>"},
    {R"(\b0[xX][0-9a-fA-F]+)", "<address>"},
    {R"(\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b)", "<hash>"},
    {R"(\b[a-f]{8,}\b)", {}},  // a word: it stays
    {R"(\b[0-9a-f]{8,}\b)", "<hash>"},
    {R"(\b[0-9]+(?:x[0-9]+)+\b)", "#"},
    {R"(\b[0-9]+(?:[.][0-9]+)?(?:[eE][-+]?[0-9]+)?\b)", "#"},
}};

const RE2& mask_pattern() {
    static const RE2 pattern([] {
        std::string all;
        for (const Mask& mask : kMasks) all += fmt::format("|({})", mask.pattern);
        return all.substr(1);
    }());
    return pattern;
}

// The names of dtypes in texts of kernels besides those of torch's Python: "Half", "c10::Half",
// "torch.cuda.HalfTensor", "MPSHalfType".
struct DtypeName {
    std::string_view scalar, dtype;
};
constexpr DtypeName kDtypeNames[] = {
    {"half", "float16"}, {"float", "float32"}, {"double", "float64"}, {"char", "int8"},
    {"short", "int16"},  {"int", "int32"},     {"long", "int64"},     {"byte", "uint8"}};

std::string dtype_of(std::string name) {
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto* const known =
        std::ranges::find(kDtypeNames, std::string_view(name), &DtypeName::scalar);
    return known == std::end(kDtypeNames) ? name : std::string(known->dtype);
}

// "RuntimeError: expected m1 and m2 to have the same dtype, but got: float != c10::Half", as the
// CPU says, and the words of other devices for it. A dtype that a device lacks has other forms.
std::optional<std::string> differing_dtypes(std::string_view text) {
    static const RE2 form(
        R"(\A((?:[\w.]*[.])?(?:Runtime|Type|Value)Error: )([^\n]*\b)"
        R"((?:same (?:d|data |scalar )?type|should be the same|scalar type \w+ but (?:found|got))\b)"
        R"([^\n]*))",
        RE2::Latin1);
    static const RE2 dtype(
        R"((?i)\b(?:c10::|torch[.](?:cuda[.]|mps[.])?)?(?:MPS|CUDA|CPU)?)"
        R"((b?float16|float32|float64|u?int(?:8|16|32|64)|half|float|double|char|short|int|long|)"
        R"(byte|bool|complex(?:half|float|double|32|64|128))(?:Type|Tensor)?\b)",
        RE2::Latin1);
    std::string type;
    re2::StringPiece rest;
    if (!RE2::PartialMatch(text, form, &type, &rest)) return std::nullopt;
    std::set<std::string> dtypes;
    std::string name;
    while (RE2::FindAndConsume(&rest, dtype, &name)) dtypes.insert(dtype_of(name));
    if (dtypes.size() < 2) return std::nullopt;
    return fmt::format("{}dtypes differ: {}", type, fmt::join(dtypes, ", "));
}

// FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
std::uint64_t checksum(std::string_view text) {
    std::uint64_t sum = 14695981039346656037ULL;
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return sum;
}

}  // namespace

std::string masked(std::string_view text) {
    if (auto one_mistake = differing_dtypes(text)) return std::move(*one_mistake);
    std::array<re2::StringPiece, kMasks.size() + 1> groups;
    std::string out;
    size_t from = 0;
    while (mask_pattern().Match(text, from, text.size(), RE2::UNANCHORED, groups.data(),
                                static_cast<int>(groups.size()))) {
        const auto at = static_cast<size_t>(groups[0].data() - text.data());
        out += text.substr(from, at - from);
        for (size_t i = 0; i < kMasks.size(); ++i)
            if (groups[i + 1].data())
                out += kMasks[i].instead.empty() ? std::string_view(groups[0]) : kMasks[i].instead;
        from = at + groups[0].size();
    }
    out += text.substr(from);
    // A sign belongs to its number where it cannot be a hyphen.
    static const RE2 sign(R"((^|[\s(\[{=,:<>])[-+]#)");
    RE2::GlobalReplace(&out, sign, "\\1#");
    return out;
}

const Frame* signature_frame(const Failure& failure) {
    for (auto it = failure.frames.rbegin(); it != failure.frames.rend(); ++it)
        if (const Owner owner = place_of(it->file).owner;
            owner == Owner::suite || owner == Owner::torch || owner == Owner::shim)
            return &*it;
    return failure.frames.empty() ? nullptr : &failure.frames.back();
}

std::string signature_of(const Failure& failure) {
    // A line of a megabyte is told by its beginning.
    const std::string key = failure.first_line();
    std::string text = masked(std::string_view(key).substr(0, 4096));
    if (const Frame* frame = signature_frame(failure))
        text += fmt::format(" @ {}:{}", place_of(frame->file).path, frame->function);
    text = valid_utf8(text);
    if (text.size() <= kSignatureBytes) return text;
    const std::string tail = fmt::format("…{:016x}", checksum(text));
    return std::string(first_bytes(text, kSignatureBytes - tail.size())) + tail;
}

}  // namespace compat::parsers
