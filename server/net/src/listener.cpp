#include <fastserve/net/listener.hpp>

#include <utility>

#include <linux/bpf_common.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

namespace fastserve::net {

namespace {

// The most that the kernel takes of an answer before it has begun to send it: accepted sockets inherit it. By default a
// peer that does not read may occupy 4 MiB, and a thousand of them the memory that all connections of a machine share.
constexpr int unsent_in_kernel = 256 * 1024;
// The least there is: until the kernel would send its part of the handshake again.
constexpr int deferred_seconds = 1;

const sockaddr* as_sockaddr(const sockaddr_storage& storage) noexcept {
    return reinterpret_cast<const sockaddr*>(&storage);
}

sock_filter statement(unsigned code, std::uint32_t k) noexcept {
    return {static_cast<std::uint16_t>(code), 0, 0, k};
}

// The program that maps the CPU that runs it, which is the one that received the packet, to the index of a listener; a
// CPU that has none, to any of them. A compare and a return for each listener, because a conditional jump reaches 255
// instructions at most and there may be more listeners than that.
std::vector<sock_filter> cpu_program(std::span<const int> cpus) {
    std::vector<sock_filter> program;
    const auto n = static_cast<std::uint32_t>(cpus.size());
    program.push_back(statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_CPU)));
    bool identity = true;
    for (std::size_t i = 0; i < cpus.size(); ++i) identity = identity && cpus[i] == static_cast<int>(i);
    if (identity) {
        program.push_back({BPF_JMP | BPF_JGE | BPF_K, 1, 0, n});
        program.push_back(statement(BPF_RET | BPF_A, 0));
    } else {
        for (std::size_t i = 0; i < cpus.size(); ++i) {
            if (cpus[i] < 0) continue;
            program.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<std::uint32_t>(cpus[i])});
            program.push_back(statement(BPF_RET | BPF_K, static_cast<std::uint32_t>(i)));
        }
    }
    program.push_back(statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_RANDOM)));
    program.push_back(statement(BPF_ALU | BPF_MOD | BPF_K, n));
    program.push_back(statement(BPF_RET | BPF_A, 0));
    return program;
}

} // namespace

listener::listener(listener&& other) noexcept
    : fd_(std::move(other.fd_)), inherited_(other.inherited_), defers_(other.defers_),
      named_(std::exchange(other.named_, false)), device_(other.device_), inode_(other.inode_),
      local_(std::move(other.local_)) {}

listener& listener::operator=(listener&& other) noexcept {
    if (this == &other) return *this;
    close();
    fd_ = std::move(other.fd_);
    inherited_ = other.inherited_;
    defers_ = other.defers_;
    named_ = std::exchange(other.named_, false);
    device_ = other.device_;
    inode_ = other.inode_;
    local_ = std::move(other.local_);
    return *this;
}

result<listener> listener::open(const address& at, const listen_options& options) {
    switch (at.type()) {
    case address::kind::v4:
    case address::kind::v6:
        return open_ip(at, options, false);
    case address::kind::unix_path:
        return open_unix(at, options);
    case address::kind::descriptor:
        return adopt(at.fd());
    case address::kind::none:
        break;
    }
    return errc::bad_address;
}

result<listener> listener::open_ip(const address& at, const listen_options& options, bool share_after_bind) {
    result<listener> opened = open_exactly(at, options, share_after_bind);
    if (opened || at.family() != AF_INET6 || !at.is_any() || options.v6_only) return opened;
    // IPv6 compiled out, and IPv6 switched off, respectively.
    if (opened.error() != std::errc::address_family_not_supported && opened.error() != std::errc::address_not_available)
        return opened;
    return open_exactly(address::v4({}, at.port()), options, share_after_bind);
}

result<listener> listener::open_exactly(const address& at, const listen_options& options, bool share_after_bind) {
    const sys::io_result made = sys::socket(at.family());
    if (!made.ok()) return sys::to_error_code(made.error);
    listener l;
    l.fd_.reset(made.descriptor());
    const int fd = l.fd();

    int error = sys::set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (!error && options.reuse_port) error = sys::set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (!error && at.family() == AF_INET6)
        error = sys::set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only || !at.is_any() ? 1 : 0);
    if (!error) error = sys::set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (!error) error = sys::set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent_in_kernel);

    sockaddr_storage storage;
    const socklen_t size = at.to_sockaddr(storage);
    if (!error) error = sys::bind(fd, as_sockaddr(storage), size);
    if (!error && share_after_bind) error = sys::set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    // It works without, too.
    l.defers_ = options.defer_accept && sys::set_option(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, deferred_seconds) == 0;
    if (!error) error = sys::listen(fd, options.backlog);
    if (!error) error = l.read_local();
    if (error) return sys::to_error_code(error);
    return l;
}

result<std::vector<listener>> listener::open_group(const address& at, std::span<const int> cpus,
                                                   const listen_options& options) {
    if (!at.is_ip() || cpus.empty()) return errc::cannot_group;
    std::vector<listener> group;
    group.reserve(cpus.size());
    // The first member binds alone and shares only then, so that another server at this address is an error. Were
    // SO_REUSEPORT set on all of them before they bind, the group would join a stranger's.
    result<listener> member = open_ip(at, options, cpus.size() > 1);
    if (!member) return member.error();
    const address where = member->local();
    group.push_back(std::move(*member));
    if (cpus.size() == 1) return group;

    listen_options shared = options;
    shared.reuse_port = true;
    // A dual-stack [::] that fell back to 0.0.0.0 has said so in its local address.
    while (group.size() < cpus.size()) {
        member = open_exactly(where, shared, false);
        if (!member) return member.error();
        group.push_back(std::move(*member));
    }

    std::vector<sock_filter> program = cpu_program(cpus);
    sock_fprog attached{static_cast<unsigned short>(program.size()), program.data()};
    const int error =
        sys::set_option(group.front().fd(), SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &attached, sizeof attached);
    if (error) return sys::to_error_code(error);
    return group;
}

result<listener> listener::open_unix(const address& at, const listen_options& options) {
    const sys::io_result made = sys::socket(AF_UNIX);
    if (!made.ok()) return sys::to_error_code(made.error);
    listener l;
    l.fd_.reset(made.descriptor());
    std::error_code error = l.bind_unix(at);
    if (!error) error = sys::to_error_code(sys::listen(l.fd(), options.backlog));
    if (!error) error = sys::to_error_code(l.read_local());
    if (error) return error;
    return l;
}

namespace {

// What stands at a name that could not be bound: nothing any more, a server, or what `path_not_socket` and other errors
// say. `found` is the file it was.
enum class occupant { gone, stale, server };

result<occupant> examine(const address& at, struct stat& found) {
    const int missing = sys::stat_name(at.path().c_str(), found);
    if (missing == ENOENT) return occupant::gone;
    if (missing) return sys::to_error_code(missing);
    if (!S_ISSOCK(found.st_mode)) return errc::path_not_socket;

    const sys::io_result made = sys::socket(AF_UNIX);
    if (!made.ok()) return sys::to_error_code(made.error);
    const unique_fd probe(made.descriptor());
    sockaddr_storage storage;
    const socklen_t size = at.to_sockaddr(storage);
    switch (const int error = sys::connect(probe.get(), as_sockaddr(storage), size)) {
    case ECONNREFUSED:
        return occupant::stale;
    case ENOENT:
        return occupant::gone;
    case 0:
    case EAGAIN:     // its queue is full: alive, if not well
    case EPROTOTYPE: // it is no stream socket, but somebody holds it
        return occupant::server;
    default:
        return sys::to_error_code(error);
    }
}

bool same_file(const struct stat& a, const struct stat& b) noexcept {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

} // namespace

std::error_code listener::bind_unix(const address& at) {
    sockaddr_storage storage;
    const socklen_t size = at.to_sockaddr(storage);
    if (size == 0) return errc::path_too_long;
    const bool in_file_system = at.path().front() != '@';
    const char* path = at.path().c_str();
    struct stat file;

    int error = sys::bind(fd(), as_sockaddr(storage), size);
    if (error == EADDRINUSE && in_file_system) {
        const result<occupant> who = examine(at, file);
        if (!who) return who.error();
        if (*who == occupant::server) return sys::to_error_code(EADDRINUSE);
        // Somebody else may have cleaned up and bound since: only the file that was found stale is removed.
        struct stat now;
        if (*who == occupant::stale && sys::stat_name(path, now) == 0 && same_file(file, now)) sys::unlink(path);
        error = sys::bind(fd(), as_sockaddr(storage), size);
    }
    if (error) return sys::to_error_code(error);
    if (!in_file_system) return {};

    error = sys::stat_name(path, file);
    if (error) {
        sys::unlink(path); // made a moment ago, and nobody would remove it later
        return sys::to_error_code(error);
    }
    named_ = true;
    device_ = file.st_dev;
    inode_ = file.st_ino;
    local_ = at; // remove_name() must know it even when a later step fails
    return {};
}

result<listener> listener::adopt(int fd) {
    int type = 0, listening = 0, domain = 0;
    int error = sys::get_option(fd, SOL_SOCKET, SO_TYPE, type);
    if (!error) error = sys::get_option(fd, SOL_SOCKET, SO_DOMAIN, domain);
    if (!error) error = sys::get_option(fd, SOL_SOCKET, SO_ACCEPTCONN, listening);
    if (error == EBADF || error == ENOTSOCK) return errc::not_a_socket;
    if (error) return sys::to_error_code(error);
    const bool ip = domain == AF_INET || domain == AF_INET6;
    if (type != SOCK_STREAM || (!ip && domain != AF_UNIX)) return errc::not_a_stream;
    if (listening == 0) return errc::not_listening;

    error = sys::make_nonblocking(fd);
    // Not for every protocol that has a stream over IP (SCTP, MPTCP) are these options, and none needs them to work.
    if (!error && ip) {
        sys::set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
        sys::set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent_in_kernel);
    }
    if (error) return sys::to_error_code(error);
    listener l;
    l.fd_.reset(fd);
    l.inherited_ = true;
    error = l.read_local();
    if (error) {
        (void)l.fd_.release();
        return sys::to_error_code(error);
    }
    return l;
}

result<listener> listener::duplicate() const {
    const sys::io_result made = sys::duplicate(fd());
    if (!made.ok()) return sys::to_error_code(made.error);
    listener l;
    l.fd_.reset(made.descriptor());
    l.inherited_ = true;
    l.local_ = local_;
    return l;
}

int listener::read_local() noexcept {
    sockaddr_storage storage{};
    socklen_t size = 0;
    const int error = sys::local_name(fd(), storage, size);
    if (!error) local_ = address::from_sockaddr(as_sockaddr(storage), size);
    return error;
}

void listener::accept_at_once() noexcept {
    if (std::exchange(defers_, false)) sys::set_option(fd(), IPPROTO_TCP, TCP_DEFER_ACCEPT, 0);
}

int listener::stop_queueing() noexcept {
    if (!fd_ || inherited_) return 0;
    remove_name();
    return sys::listen(fd(), 0);
}

void listener::remove_name() noexcept {
    if (!std::exchange(named_, false)) return;
    struct stat now;
    if (sys::stat_name(local_.path().c_str(), now) == 0 && now.st_dev == device_ && now.st_ino == inode_)
        sys::unlink(local_.path().c_str());
}

void listener::close() noexcept {
    remove_name();
    fd_.reset();
}

} // namespace fastserve::net
