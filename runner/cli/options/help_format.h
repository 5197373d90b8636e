// Help of all commands: at most 80 columns, descriptions in one column.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace compat::cli {

inline constexpr std::size_t kHelpColumns = 80;

// `text` beside `name`, or below a long name.
[[nodiscard]] std::string help_entry(std::string_view name, std::string_view text);

class HelpFormat : public CLI::Formatter {
  public:
    HelpFormat();
    std::string make_description(const CLI::App* app) const override;
    std::string make_option(const CLI::Option* option, bool is_positional) const override;
    std::string make_subcommand(const CLI::App* command) const override;
};

}  // namespace compat::cli
