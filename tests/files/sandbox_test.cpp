// Without openat2(): as an old kernel answers, and as sandboxes do that do not know it.
#include <fastserve/files/folder.hpp>

#include "temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sandbox_test {
namespace {

using namespace fastserve::files;
using files_test::temporary_folder;

// From now on, and for ever, openat2() fails so in this process.
bool take_openat2(int error) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{4, program};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// 0, or the number of what is wrong.
int serve_without_openat2(const temporary_folder& t, int error) {
    if (!take_openat2(error)) return 1;
    folder f;
    if (f.open(t.path().c_str())) return 2;
    if (f.links() != resolution::walk) return 3;
    if (f.find("sub/a.txt").what != found::file) return 4;
    if (f.find("sub/").error != errc::not_listed) return 5;
    if (f.find("link").error != errc::outside) return 6;
    return 0;
}

TEST(Sandbox, NamesAreWalked) {
    const temporary_folder t;
    t.file("sub/a.txt", "hello");
    t.link("link", "sub/a.txt");
    for (const int error : {ENOSYS, EPERM}) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) ::_exit(serve_without_openat2(t, error));
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), 0) << error;
    }
}

} // namespace
} // namespace sandbox_test
