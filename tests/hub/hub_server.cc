// hub_server SETTINGS: a hub alone, for tests with real clients. SETTINGS is JSON: mode, store,
// lock, log, python, fetcher, upstream, max_bytes, generator {argv, folder}. Prints its address,
// serves until its input ends, and prints its summary as JSON.
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "runner/hub/hub.h"

extern char** environ;

namespace {

using nlohmann::json;
using namespace compat;

hub::Settings settings_of(const json& from) {
    hub::Settings to;
    to.mode = hub::mode_named(from.at("mode").get<std::string>()).value();
    to.store = from.at("store").get<std::string>();
    to.lock = from.at("lock").get<std::string>();
    to.log = from.value("log", "");
    to.python = from.value("python", "");
    to.fetcher = from.value("fetcher", "");
    to.upstream = from.value("upstream", to.upstream);
    to.max_bytes = from.value("max_bytes", to.max_bytes);
    if (!from.contains("generator")) return to;
    hub::Program program;
    program.argv = from["generator"].at("argv").get<std::vector<std::string>>();
    program.folder = from["generator"].at("folder").get<std::string>();
    for (char** one = environ; *one; ++one) {
        const std::string text = *one;
        program.variables.emplace_back(text.substr(0, text.find('=')),
                                       text.substr(text.find('=') + 1));
    }
    to.generator = std::move(program);
    return to;
}

json json_of(const std::vector<hub::Named>& list) {
    json all = json::object();
    for (const hub::Named& one : list) all[one.name] = one.why;
    return all;
}

void write(const std::string& text) {
    if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) return;
}

}  // namespace

int main(int, char** argv) {
    auto started = hub::Hub::start(settings_of(json::parse(argv[1])));
    if (!started) {
        write(to_line(started.error()) + "\n");
        return 1;
    }
    write((*started)->endpoint() + "\n");
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) continue;
    const hub::Summary summary = (*started)->stop();
    write(json{{"requests", summary.requests},
               {"bytes_fetched", summary.bytes_fetched},
               {"served", summary.served},
               {"generated", summary.generated},
               {"missing", json_of(summary.missing)},
               {"problems", json_of(summary.problems)}}
              .dump(-1, ' ', true) +
          "\n");
    return 0;
}
