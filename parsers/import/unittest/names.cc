#include "parsers/import/unittest/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "parsers/import/foreign.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kLoader = "unittest.loader.";

bool is_loader(const UnittestHeader& header) { return header.qualified.starts_with(kLoader); }

// "unittest.case.FunctionTestCase (check)" is the function `check`.
bool is_of_function(const UnittestHeader& header) {
    return header.qualified.find('.') == std::string_view::npos &&
           header.method.find('.') != std::string_view::npos;
}

// Whether the printed name holds the method's, as since Python 3.11.
bool is_complete(const UnittestHeader& header) {
    const std::string_view name = header.qualified;
    const size_t method = header.method.size();
    return name.size() > method && name.ends_with(header.method) &&
           name[name.size() - method - 1] == '.';
}

// "mod.Class" of either form.
std::string_view owner_of(const UnittestHeader& header) {
    if (!is_complete(header)) return header.qualified;
    return header.qualified.substr(0, header.qualified.size() - header.method.size() - 1);
}

std::string dotted(std::string_view module) {
    if (module.ends_with(".py")) module.remove_suffix(3);
    std::string out(module);
    std::replace(out.begin(), out.end(), '/', '.');
    return out;
}

}  // namespace

std::string unittest_name_of(const UnittestHeader& header) {
    std::string name = valid_utf8(header.qualified);
    if (is_loader(header) || unittest_fixture_of(header.method) || is_of_function(header) ||
        is_complete(header))
        return name;
    name += '.';
    append_valid_utf8(name, header.method);
    return name;
}

Phase unittest_phase_of(const UnittestHeader& header) {
    if (is_loader(header)) return Phase::load;
    const UnittestFixture* const fixture = unittest_fixture_of(header.method);
    return fixture ? fixture->phase : Phase::call;
}

UnittestNames::UnittestNames(std::string_view module, std::string_view fallback)
    : module_(valid_utf8(module)), dotted_(dotted(module_)), fallback_(valid_utf8(fallback)) {}

void UnittestNames::set_fallback(std::string fallback) {
    fallback_ = std::move(fallback);
    prefix_.clear();
}

CaseRecord UnittestNames::case_of(const UnittestHeader& header) {
    CaseRecord c;
    c.name = unittest_name_of(header);
    c.phase = unittest_phase_of(header);
    const UnittestFixture* const fixture = unittest_fixture_of(header.method);
    c.pseudo = c.phase != Phase::call;
    c.started = !fixture;
    if (c.phase == Phase::load)
        c.id = path_of_module(header.method) + "::<module>";
    else if (fixture && fixture->of_class)
        c.id = prefix_of(header.qualified) + std::string(fixture->pseudo);
    else if (fixture)
        c.id = fmt::format("{}::{}", path_of_module(header.qualified), fixture->pseudo);
    else if (is_of_function(header))
        c.id = fmt::format("{}::{}", module_.empty() ? fallback_ : module_, c.name);
    else {
        c.id = prefix_of(owner_of(header));
        append_valid_utf8(c.id, header.method);
    }
    return c;
}

const std::string& UnittestNames::prefix_of(std::string_view owner) {
    if (owner == owner_ && !prefix_.empty()) return prefix_;
    owner_ = owner;
    if (!module_.empty()) {
        prefix_ = fmt::format("{}::{}::", module_, valid_utf8(class_of(owner)));
        return prefix_;
    }
    const ClassPlace place = place_of_class(owner);
    prefix_ = valid_utf8(
        fmt::format("{}::{}::", place.path.empty() ? fallback_ : place.path, place.classes));
    return prefix_;
}

std::string UnittestNames::path_of_module(std::string_view dotted) const {
    if (!module_.empty()) return module_;
    if (dotted == "__main__") return fallback_;
    std::string path = valid_utf8(dotted) + ".py";
    std::replace(path.begin(), path.end() - 3, '.', '/');
    return path;
}

// "tests.test_a.Outer.Inner" is "Outer.Inner" in tests/test_a.py, under whatever part of the
// path Python imported it. A class from elsewhere is known by its last word.
std::string UnittestNames::class_of(std::string_view qualified) const {
    for (std::string_view name = dotted_; !name.empty();) {
        if (qualified.size() > name.size() && qualified.starts_with(name) &&
            qualified[name.size()] == '.')
            return std::string(qualified.substr(name.size() + 1));
        const size_t dot = name.find('.');
        name = dot == std::string_view::npos ? std::string_view{} : name.substr(dot + 1);
    }
    constexpr std::string_view kMain = "__main__.";
    if (qualified.starts_with(kMain)) return std::string(qualified.substr(kMain.size()));
    return std::string(qualified.substr(qualified.rfind('.') + 1));
}

}  // namespace compat::parsers
