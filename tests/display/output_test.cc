#include "runner/display/output.h"

#include <gtest/gtest.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <thread>

namespace compat::display {
namespace {

volatile std::sig_atomic_t interruptions = 0;

// A terminal that was stopped and a pipe that is full end a write half done when a signal comes.
TEST(Output, IsWrittenWholeThoughSignalsInterruptIt) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    const std::string text(3 << 20, 'x');
    std::string arrived;
    ::pthread_sigmask(SIG_BLOCK, &alarm, nullptr);  // of the reader
    std::thread reader([&] {
        std::array<char, 4096> part{};
        while (const ssize_t n = ::read(ends[0], part.data(), part.size())) {
            if (n < 0) return;
            arrived.append(part.data(), static_cast<size_t>(n));
            if (arrived.size() % (1 << 16) == 0) ::usleep(1000);
        }
    });
    struct sigaction count = {}, before = {};
    count.sa_handler = [](int) { interruptions = interruptions + 1; };  // without SA_RESTART
    ::sigaction(SIGALRM, &count, &before);
    ::pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
    const itimerval often = {{0, 500}, {0, 500}}, never = {};
    ::setitimer(ITIMER_REAL, &often, nullptr);

    const int kept = ::dup(STDOUT_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[1]);
    put(stdout, text);
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::dup2(kept, STDOUT_FILENO);
    ::close(kept);
    reader.join();
    ::close(ends[0]);
    ::sigaction(SIGALRM, &before, nullptr);

    EXPECT_GT(interruptions, 5);
    EXPECT_TRUE(arrived == text) << arrived.size();
    EXPECT_EQ(output_error(), 0);
}

}  // namespace
}  // namespace compat::display
