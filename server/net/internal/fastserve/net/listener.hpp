// A socket that connections are accepted from. It does not accept: that is the acceptor's work, on fd().
//
// Thread safety: one thread at a time; but while one calls stop_queueing(), another may accept on fd().
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <sys/types.h>

#include <fastserve/net/address.hpp>
#include <fastserve/net/system.hpp>

namespace fastserve::net {

struct listen_options {
    // Connections the kernel keeps ready for accept; it lowers this to net.core.somaxconn.
    int backlog = 4096;
    // Share the address with other processes of this user that ask for the same (SO_REUSEPORT), as a rolling restart
    // does. Off, a second server gets address_in_use instead of half of the connections.
    bool reuse_port = false;
    // [::] takes IPv6 alone. Off, it takes IPv4 as well, whatever net.ipv6.bindv6only says.
    bool v6_only = false;
    // Have TCP connections that have sent nothing yet wait with the kernel, for a second at most (TCP_DEFER_ACCEPT):
    // whoever accepts one finds its request there, instead of waiting for both, one after the other.
    bool defer_accept = false;
};

// Owns the socket, and the name of a Unix socket in the file system.
class listener {
public:
    // Opens a listening socket: non-blocking, close-on-exec, TCP_NODELAY (which accepted sockets inherit).
    //
    // [::] on a host without IPv6 becomes 0.0.0.0; local() says so.
    // Unix socket: a name nobody answers at is taken over; a live server is address_in_use; a file that is no socket is
    //   never removed (errc::path_not_socket). Its mode is what the umask leaves.
    // Descriptor: must be a listening TCP or Unix stream socket; it is owned from success on, and left as it was on
    //   failure. Its backlog and name belong to who made it.
    // Errors: errc, or the errno of the call that failed (std::errc::address_in_use, permission_denied, ...).
    static result<listener> open(const address& at, const listen_options& options = {});

    // Opens cpus.size() listeners on one IP address; the kernel gives a new connection to the first one whose CPU (in
    // `cpus`, any numbers) is the one that received it, and those of other CPUs to listener cpu % n. Errors as open(),
    // and errc::cannot_group for what is no IP address. Exclusive like one listener unless `options.reuse_port`.
    // When a member is closed the kernel renumbers the others: connections still arrive, perhaps at another member.
    static result<std::vector<listener>> open_group(const address& at, std::span<const int> cpus,
                                                    const listen_options& options = {});

    // Another descriptor of the same queue, which is closed when the last of them is. Like an inherited one it leaves
    // the end of the queue to the first.
    result<listener> duplicate() const;

    listener(listener&& other) noexcept;
    listener& operator=(listener&& other) noexcept;
    ~listener() { close(); }

    int fd() const noexcept { return fd_.get(); }
    // Where it listens: with the port the kernel chose, if it was asked to.
    const address& local() const noexcept { return local_; }
    // Somebody else, as the parent process, may hold it open after this one.
    bool inherited() const noexcept { return inherited_; }

    // Ends defer_accept: connections that have sent nothing become ready too, within a second. Those that have not when
    // the listener is closed are reset by what they send.
    void accept_at_once() noexcept;

    // The first step of a drain: new connections are turned away, those in the queue can still be accepted, and the
    // name of a Unix socket is gone. Then accept until EAGAIN and close: closing first would reset the queued ones. An
    // inherited socket is left as it is, because the next process goes on with it. Returns an errno value or 0.
    int stop_queueing() noexcept;

    // Removes the name of a Unix socket if it is still this socket's, and closes. Idempotent.
    void close() noexcept;

private:
    listener() = default;

    static result<listener> open_ip(const address& at, const listen_options& options, bool share_after_bind);
    static result<listener> open_exactly(const address& at, const listen_options& options, bool share_after_bind);
    static result<listener> open_unix(const address& at, const listen_options& options);
    static result<listener> adopt(int fd);
    std::error_code bind_unix(const address& at);
    int read_local() noexcept;
    void remove_name() noexcept;

    unique_fd fd_;
    bool inherited_ = false;
    bool defers_ = false;
    bool named_ = false; // local_.path() is a file we made: inode_ on device_
    dev_t device_ = 0;
    ino_t inode_ = 0;
    address local_;
};

} // namespace fastserve::net
