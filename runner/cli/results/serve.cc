// `runner serve`: shows stored runs in a browser, also while they go on.
#include <unistd.h>

#include "reports/html/page.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/options/checks.h"
#include "runner/cli/results.h"
#include "runner/display/output.h"
#include "runner/http/http_server.h"
#include "runner/serve/pages.h"

namespace compat::cli {

namespace {

constexpr std::string_view kLoopback = "127.0.0.1";
constexpr std::chrono::milliseconds kLastReads{1'000};  // of the database, at the end

struct ServeOptions {
    std::string host{kLoopback};
    std::uint16_t port = 8737;
};

Expected<ExitCode> serve_results(const ServeOptions& options,
                                 const config::Invocation& invocation) {
    TRY(reports::can_write_html());
    const auto results = TRY(open_existing(invocation));
    auto server = TRY(http::HttpServer::listen(options.host, options.port));
    serve::Pages pages(results.folder, [](const Error& error) {
        print(stderr, "runner: {}\n", printable(to_line(error)));
    });
    print("{}\n", server.url());
    if (!server.is_loopback())
        print(stderr,
              "note: everybody who reaches this address can read the results: logs, sources, "
              "settings\n");
    print(stderr, "Press Ctrl+C to stop.\n");
    server.run([&pages](http::Request request, http::Respond respond) {
        pages.answer(std::move(request), std::move(respond));
    });
    // A long query cannot be interrupted. Nothing is written, so that nothing is lost.
    if (!pages.end_within(kLastReads)) ::_exit(static_cast<int>(ExitCode::interrupted));
    return ExitCode::interrupted;
}

Action add_serve(CLI::App& app, config::Invocation& invocation) {
    auto options = std::make_shared<ServeOptions>();
    app.add_option("--port", options->port, "port to listen on; 0: a free one")
        ->check(in_range(0, 65'535))
        ->type_name("N")
        ->capture_default_str();
    app.add_option("--host", options->host,
                   "address or name of this machine to listen on; 0.0.0.0: all of them")
        ->type_name("ADDRESS")
        ->capture_default_str();
    return exits_with_code([options, &invocation] { return serve_results(*options, invocation); });
}

}  // namespace

Command serve_command() {
    return {"show stored runs in a browser, also while they go on",
            {Setting::results},
            "Prints the address and answers until Ctrl+C. Nothing can be changed through it.\n"
            "Examples:\n"
            "  runner serve\n"
            "  runner serve --port 0 --results nightly/results\n"
            "On a remote machine, reach it through ssh: ssh -L 8737:localhost:8737 MACHINE",
            add_serve};
}

}  // namespace compat::cli
