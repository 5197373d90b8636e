#include "runner/run/variables.h"

#include <fmt/format.h>

#include "runner/base/secrets.h"

extern char** environ;

namespace compat::run {

plan::Variables inherited_environment() {
    plan::Variables variables;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text(*entry);
        const size_t equals = text.find('=');
        if (equals != std::string_view::npos)
            variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return variables;
}

Expected<plan::Variables> parse_variables(const std::vector<std::string>& words) {
    plan::Variables variables;
    for (const auto& word : words) {
        const size_t equals = word.find('=');
        if (equals == 0 || equals == std::string::npos)
            return fail(ErrorKind::usage, fmt::format("--env {} is not NAME=VALUE", word),
                        "write it as --env NAME=VALUE");
        std::string name = word.substr(0, equals);
        if (word.find('\0') != std::string::npos)
            return fail(
                ErrorKind::usage,
                fmt::format("the variable {} contains a NUL byte", name.substr(0, name.find('\0'))),
                "no environment can hold one: remove it", "--env");
        variables.emplace_back(std::move(name), word.substr(equals + 1));
    }
    remember_secrets(variables);
    return variables;
}

}  // namespace compat::run
