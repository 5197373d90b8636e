#include "runner/cli/options/candidates.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "reports/render.h"

namespace compat::cli {

namespace {

enum class Kind { none, files, folders, suites, runs, formats, shells };

struct KindRow {
    std::string_view name;  // of an argument, or of an option's value, in the help
    Kind kind;
};
constexpr std::array kKinds{
    KindRow{"SUITE", Kind::suites},   KindRow{"RUN", Kind::runs},
    KindRow{"RUN|TEST", Kind::runs},  KindRow{"TARGET", Kind::files},
    KindRow{"PATH", Kind::files},     KindRow{"FILE", Kind::files},
    KindRow{"PROGRAM", Kind::files},  KindRow{"DIR", Kind::folders},
    KindRow{"FOLDER", Kind::folders}, KindRow{"LIST", Kind::formats},
    KindRow{"SHELL", Kind::shells},
};

Kind kind_of(std::string_view name) {
    const auto row = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const KindRow& r) { return r.name == name; });
    return row == kKinds.end() ? Kind::none : row->kind;
}

void add_split(std::string_view list, std::vector<Candidate>& words) {
    while (!list.empty()) {
        const auto bar = std::min(list.find('|'), list.size());
        words.push_back({std::string(list.substr(0, bar)), {}});
        list.remove_prefix(std::min(bar + 1, list.size()));
    }
}

// Null: none has this name.
const CLI::App* subcommand_of(const CLI::App& app, const std::string& name) {
    const auto found =
        app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == name; });
    return found.empty() ? nullptr : found.front();
}

class Completer {
  public:
    Completer(const CLI::App& app, const ValueSources& sources) : root_(app), sources_(sources) {}

    Candidates at_end_of(std::vector<std::string> words) {
        const std::string last = words.empty() ? "" : words.back();
        if (!words.empty()) words.pop_back();
        if (words.empty() || (words.size() == 1 && words[0] == "help")) {
            add_commands(root_);
            if (words.empty()) {
                add_options(root_, last);
                // `runner SUITE` is `runner run SUITE`.
                add_values("SUITE");
            }
            return matching(last);
        }
        const CLI::App* command = &root_;
        if (!subcommand_of(root_, words[0]) && words[0] != "help")
            words.insert(words.begin(), "run");
        const CLI::Option* open = nullptr;  // waits for its value
        std::size_t arguments = 0;          // before the last word
        for (const std::string& word : words) {
            if (word == "--") {
                found_.paths = Paths::files;
                return found_;
            }
            if (word == "=") continue;  // bash takes "--shim=on" apart
            if (open) {
                open = nullptr;
            } else if (word.starts_with('-')) {
                open = waits_for_value(*command, word);
            } else if (const CLI::App* sub = subcommand_of(*command, word)) {
                command = sub;
                arguments = 0;
            } else {
                ++arguments;
            }
        }
        if (open) {
            add_values(open->get_type_name());
        } else if (last.starts_with('-')) {
            add_options(*command, last);
        } else {
            add_commands(*command);
            add_argument(*command, arguments);
        }
        return matching(last == "=" ? "" : last);
    }

  private:
    // Null: no such option, a flag, or its value is in the word.
    static const CLI::Option* waits_for_value(const CLI::App& app, const std::string& word) {
        if (word.find('=') != std::string::npos) return nullptr;
        const CLI::Option* option = app.get_option_no_throw(word);
        return option && option->get_type_size() != 0 ? option : nullptr;
    }

    void add_commands(const CLI::App& app) {
        for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
            found_.words.push_back({sub->get_name(), sub->get_description()});
    }

    void add_options(const CLI::App& app, const std::string& last) {
        if (!last.starts_with('-')) return;
        for (const CLI::Option* option : app.get_options()) {
            if (option->get_group().empty()) continue;
            const std::string& help = option->get_description();
            for (const std::string& name : option->get_lnames())
                found_.words.push_back({"--" + name, help});
            if (last.starts_with("--")) continue;
            for (const std::string& name : option->get_snames())
                found_.words.push_back({"-" + name, help});
        }
    }

    void add_argument(const CLI::App& app, std::size_t before) {
        for (const CLI::Option* option : app.get_options()) {
            if (!option->get_positional()) continue;
            const auto most = static_cast<std::size_t>(option->get_items_expected_max());
            if (before < most) return add_values(option->get_name(true));
            before -= most;
        }
    }

    // Adds the values of an argument, or of an option, with this name in the help.
    void add_values(std::string name) {
        name = name.substr(0, name.find(':'));  // CLI11 appends the bounds of checks
        if (name.ends_with("...")) name.resize(name.size() - 3);
        switch (kind_of(name)) {
            case Kind::none:
                if (name.find('|') != std::string::npos) add_split(name, found_.words);
                return;
            case Kind::files:
                found_.paths = Paths::files;
                return;
            case Kind::folders:
                found_.paths = Paths::folders;
                return;
            case Kind::suites:
                found_.paths = Paths::folders;
                return add_all(sources_.suites());
            case Kind::runs:
                return add_all(sources_.runs());
            case Kind::formats:
                // Rows of one name follow each other.
                for (const reports::FormatRow& row : reports::kFormats)
                    if (found_.words.empty() || found_.words.back().word != row.name)
                        found_.words.push_back({std::string(row.name), {}});
                return;
            case Kind::shells:
                return add_split("bash|zsh|fish", found_.words);
        }
    }

    void add_all(std::vector<Candidate> words) {
        for (Candidate& word : words) found_.words.push_back(std::move(word));
    }

    Candidates matching(const std::string& last) {
        std::erase_if(found_.words,
                      [&](const Candidate& word) { return !word.word.starts_with(last); });
        return std::move(found_);
    }

    const CLI::App& root_;
    const ValueSources& sources_;
    Candidates found_;
};

}  // namespace

Candidates candidates_for(const CLI::App& app, std::vector<std::string> words,
                          const ValueSources& sources) {
    return Completer(app, sources).at_end_of(std::move(words));
}

}  // namespace compat::cli
