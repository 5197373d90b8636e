// device-probe: prints, as one JSON object (docs/reference/file-formats.md), the devices that
// LibTorch finds.
//
// Each device type is asked in its own process, all at the same time, forked before LibTorch has
// done anything. A driver that hangs or crashes affects only its own type, is named, and costs at
// most kSeconds. The loader finds LibTorch's libraries: LD_LIBRARY_PATH=…/torch/lib, on macOS
// DYLD_LIBRARY_PATH.
//
// On macOS Metal does not work in a process that was forked and has not called exec. There the
// child starts this program anew: device-probe --ask TYPE FD.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#ifdef __linux__
#include <sys/prctl.h>
#elif defined(__APPLE__)
#include <mach-o/dyld.h>

#include <array>
#endif

#include "devices/devices.h"
#include "devices/json_text.h"

namespace {

using compat::devices::DeviceCapabilities;
using compat::devices::joined;
using compat::devices::json_string;
using compat::devices::or_null;
using compat::devices::TypeReport;

constexpr int kFormat = 1;
constexpr unsigned kSeconds = 15;

std::string json_of(const DeviceCapabilities& device) {
    std::vector<std::string> dtypes;
    for (const auto& dtype : device.dtypes)
        dtypes.push_back(json_string(dtype.name) +
                         ": {\"works\": " + (dtype.works ? "true" : "false") +
                         ", \"why\": " + or_null(dtype.why) + "}");
    return "{\"device\": " + json_string(device.device) +
           ", \"type\": " + json_string(device.type) + ", \"name\": " + or_null(device.name) +
           ", \"memory_total\": " + or_null(device.memory_total) +
           ", \"memory_free\": " + or_null(device.memory_free) +
           ", \"capability\": " + or_null(device.capability) + ", \"dtypes\": {" + joined(dtypes) +
           "}}";
}

// A child writes lines of a mark and text. The last step is where it died.
enum Mark : char { step = '#', built = '+', found = '=', refused = '!' };

class Pipe final : public compat::devices::Progress {
  public:
    explicit Pipe(int fd) : fd_(fd) {}
    void about_to(std::string_view what) override { tell(step, std::string(what)); }
    void tell(Mark mark, std::string text) const {
        for (char& c : text)
            if (c == '\n') c = ' ';
        text = static_cast<char>(mark) + text + '\n';
        for (size_t done = 0; done < text.size();) {
            const auto n = write(fd_, text.data() + done, text.size() - done);
            if (n < 0 && errno != EINTR) return;
            if (n > 0) done += static_cast<size_t>(n);
        }
    }

  private:
    int fd_;
};

// A question to LibTorch: a device type, or how it was built.
using Question = void (*)(const std::string& asked, Pipe& pipe);

void ask_type(const std::string& type, Pipe& pipe) {
    const TypeReport report = compat::devices::devices_of(type, pipe);
    if (report.built) pipe.tell(built, "");
    for (const auto& device : report.devices) pipe.tell(found, json_of(device));
}

void ask_config(const std::string& /*asked*/, Pipe& pipe) {
    pipe.tell(found, json_string(compat::devices::build_config()));
}

constexpr char kConfig[] = "config";  // asked for in place of a type
Question question_about(const std::string& asked) {
    return asked == kConfig ? &ask_config : &ask_type;
}

[[noreturn]] void put(const std::string& asked, int fd) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    alarm(kSeconds);
    // A backend's output is dropped, and a backend that hangs must not keep our pipe open.
    const int null = open("/dev/null", O_RDWR);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, standard);
    Pipe pipe(fd);
    try {
        question_about(asked)(asked, pipe);
    } catch (const std::exception& error) {
        pipe.tell(refused, std::string(error.what(), std::strcspn(error.what(), "\n")));
    }
    _exit(0);  // skips the backends' exit handlers, which may crash
}

// In a child of this process.
[[noreturn]] void answer_in_child(const std::string& asked, int fd) {
#ifdef __APPLE__
    std::array<char, 4096> program{};
    std::uint32_t size = program.size();
    if (_NSGetExecutablePath(program.data(), &size) == 0)
        execl(program.data(), "device-probe", "--ask", asked.c_str(), std::to_string(fd).c_str(),
              nullptr);
    Pipe(fd).tell(refused, std::strerror(errno));
    _exit(1);
#else
    put(asked, fd);
#endif
}

struct Answer {
    std::string asked;
    pid_t pid = -1;
    int fd = -1;
    std::string why;  // why it failed
    std::string last_step = "asking";
    bool is_built = false;
    std::vector<std::string> found;  // JSON
};

Answer start(const std::string& asked) {
    Answer answer;
    answer.asked = asked;
    int ends[2];
    if (pipe(ends) != 0) {
        answer.why = std::strerror(errno);
        return answer;
    }
    answer.pid = fork();
    if (answer.pid == 0) {
        close(ends[0]);
        answer_in_child(asked, ends[1]);
    }
    if (answer.pid < 0) answer.why = std::strerror(errno);
    close(ends[1]);
    answer.fd = ends[0];
    return answer;
}

void take(Answer& answer, const std::string& line) {
    const std::string text = line.substr(1);
    switch (line[0]) {
        case step:
            answer.last_step = text;
            break;
        case built:
            answer.is_built = true;
            break;
        case found:
            answer.found.push_back(text);
            break;
        case refused:
            answer.why = text;
            break;
    }
}

void finish(Answer& answer) {
    if (answer.pid < 0) return;
    std::string text;
    char buffer[4096];
    while (true) {
        const auto n = read(answer.fd, buffer, sizeof buffer);
        if (n > 0) text.append(buffer, static_cast<size_t>(n));
        if (n == 0 || (n < 0 && errno != EINTR)) break;
    }
    for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1)
        take(answer, text.substr(begin, end - begin));
    int status = 0;
    while (waitpid(answer.pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        answer.why = "no answer in " + std::to_string(kSeconds) + " s, " + answer.last_step;
    else if (WIFSIGNALED(status))
        answer.why = std::string(strsignal(WTERMSIG(status))) + ", " + answer.last_step;
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 4 && std::strcmp(arguments[1], "--ask") == 0)
        put(arguments[2], std::atoi(arguments[3]));
    std::vector<Answer> answers{start(kConfig)};
    for (const auto& type : compat::devices::device_types()) answers.push_back(start(type));
    std::vector<std::string> types, failed;
    for (auto& answer : answers) {
        finish(answer);
        if (answer.is_built) types.push_back(json_string(answer.asked));
        if (!answer.why.empty())
            failed.push_back("{\"asked\": " + json_string(answer.asked) +
                             ", \"why\": " + json_string(answer.why) + "}");
    }
    const std::string config = joined(answers.front().found);
    std::vector<std::string> devices;
    for (auto answer = answers.begin() + 1; answer != answers.end(); ++answer)
        devices.insert(devices.end(), answer->found.begin(), answer->found.end());
    std::printf(
        "{\"format\": %d, \"torch\": %s, \"git\": %s, \"config\": %s,\n \"built\": [%s],\n"
        " \"devices\": [%s],\n \"failed\": [%s]}\n",
        kFormat, json_string(COMPAT_SHIM_TORCH_VERSION).c_str(),
        json_string(COMPAT_SHIM_TORCH_GIT).c_str(), config.empty() ? "null" : config.c_str(),
        joined(types).c_str(), joined(devices).c_str(), joined(failed).c_str());
    // LibTorch has nothing to clean up, which would take half as long as loading it.
    _exit(std::fflush(stdout) == 0 ? 0 : 1);
}
