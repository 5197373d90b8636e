#include "runner/display/output.h"

#include <cerrno>

#include "runner/base/files.h"
#include "runner/base/secrets.h"
#include "runner/base/text.h"

namespace compat::display {

namespace {
int first_error = 0;
bool stdout_is_for_programs = false;
}  // namespace

std::FILE* people() { return stdout_is_for_programs ? stderr : stdout; }

void keep_stdout_for_programs() { stdout_is_for_programs = true; }

void put(std::FILE* file, std::string_view text) {
    if (!file) return;
    // Not by stdio, which loses the rest of a write that a signal interrupts (Ctrl-Z and `fg`).
    const int error = write_all(::fileno(file), text);
    if (file == stdout && error != EPIPE && first_error == 0) first_error = error;
}

void put_masked(std::FILE* file, std::string_view text) {
    if (file) put(file, mask_own_secrets(text));
}

int output_error() { return first_error; }

std::function<void(std::string_view)> say_to(std::FILE* file) {
    return [file](std::string_view line) { print(file, "{}\n", printable(line)); };
}

}  // namespace compat::display
