// Tests in a forked child, which may hang or crash without taking the program along.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace tropical::test {

inline constexpr int died = -1;

// The exit status of a child that runs `body`, which returns it; `died` if a signal ended it, at
// the latest after `seconds`.
int status_in_child(auto body, unsigned seconds = 60) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        alarm(seconds);
        _exit(body());
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return died;
    return WEXITSTATUS(status);
}

}  // namespace tropical::test
