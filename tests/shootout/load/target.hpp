#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <sys/socket.h>

namespace load {

// Where the requests go.
struct target {
    sockaddr_storage address{};
    socklen_t address_size = 0;
    std::string host{}; // as the Host field has it
    std::string path{};

    int family() const noexcept { return address.ss_family; }
};

// Reads http://127.1.2.3:8080/path, http://[::1]:8080/ or http://localhost/; a port that is not named is 80. This is a
// tool to load one's own machine with: what is not on the loopback interface is refused, and no name is looked up.
// Returns what is wrong in words; empty: `to` is filled.
std::string read_target(std::string_view url, target& to);

// The `i`th of 65,536 addresses of this machine in 127.0.0.0/8, from 127.0.0.1 on.
sockaddr_in source_address(unsigned i) noexcept;

} // namespace load
