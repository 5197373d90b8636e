#include "parsers/import/unittest/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "parsers/import/importers.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

bool is_loader(const UnittestHeader& header) {
    return header.qualified.starts_with("unittest.loader.");
}

// "mod.Class" of "mod.Class.test_x", as it is printed since Python 3.11, and of "mod.Class".
std::string_view owner_of(const UnittestHeader& header) {
    std::string_view owner = header.qualified;
    const size_t tail = header.method.size() + 1;
    const bool complete =
        owner.size() > tail && owner.ends_with(header.method) && owner[owner.size() - tail] == '.';
    return complete ? owner.substr(0, owner.size() - tail) : owner;
}

// "tests.test_a.Outer.Inner" is "Outer.Inner" in tests/test_a.py, under whatever part of the path
// Python imported it. A class from elsewhere is known by its last word.
std::string_view class_in(std::string_view module, std::string_view qualified) {
    std::string dotted(module.substr(0, module.size() - 3 * module.ends_with(".py")));
    std::replace(dotted.begin(), dotted.end(), '/', '.');
    for (std::string_view name = dotted; !name.empty();) {
        if (qualified.starts_with(name) && qualified.substr(name.size()).starts_with('.'))
            return qualified.substr(name.size() + 1);
        name.remove_prefix(std::min(name.find('.'), name.size() - 1) + 1);
    }
    constexpr std::string_view kMain = "__main__.";
    return qualified.substr(qualified.starts_with(kMain) ? kMain.size() : qualified.rfind('.') + 1);
}

}  // namespace

std::string unittest_name_of(const UnittestHeader& header) {
    std::string name = valid_utf8(header.qualified);
    if (is_loader(header) || unittest_fixture_of(header.method) ||
        owner_of(header).size() < header.qualified.size())
        return name;
    return name + '.' + valid_utf8(header.method);
}

Phase unittest_phase_of(const UnittestHeader& header) {
    if (is_loader(header)) return Phase::load;
    const UnittestFixture* const fixture = unittest_fixture_of(header.method);
    return fixture ? fixture->phase : Phase::call;
}

UnittestNames::UnittestNames(std::string_view module, std::string_view fallback)
    : module_(valid_utf8(module)), fallback_(valid_utf8(fallback)) {}

void UnittestNames::set_fallback(std::string fallback) {
    fallback_ = std::move(fallback);
    prefix_.clear();
}

CaseRecord UnittestNames::case_of(const UnittestHeader& header) {
    CaseRecord c;
    c.name = unittest_name_of(header);
    c.phase = unittest_phase_of(header);
    c.pseudo = c.phase != Phase::call;
    const UnittestFixture* const fixture = unittest_fixture_of(header.method);
    c.started = !fixture;
    if (c.phase == Phase::load)
        c.id = path_of(header.method) + "::<module>";
    else if (fixture && fixture->of_class)
        c.id = prefix_of(header.qualified) + std::string(fixture->pseudo);
    else if (fixture)
        c.id = fmt::format("{}::{}", path_of(header.qualified), fixture->pseudo);
    else
        c.id = prefix_of(owner_of(header)) + valid_utf8(header.method);
    return c;
}

const std::string& UnittestNames::prefix_of(std::string_view owner) {
    if (owner == owner_ && !prefix_.empty()) return prefix_;
    owner_ = owner;
    ClassPlace place = place_of_class(owner);
    if (place.path.empty()) place.path = fallback_;
    if (!module_.empty()) place = {module_, std::string(class_in(module_, owner))};
    prefix_ = valid_utf8(fmt::format("{}::{}::", place.path, place.classes));
    return prefix_;
}

std::string UnittestNames::path_of(std::string_view dotted) const {
    if (!module_.empty()) return module_;
    if (dotted == "__main__") return fallback_;
    std::string path = valid_utf8(dotted);
    std::replace(path.begin(), path.end(), '.', '/');
    return path + ".py";
}

}  // namespace compat::parsers
