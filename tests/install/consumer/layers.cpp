// The layers without I/O, as a program of somebody else's includes them.
#include <fastserve/http/error.hpp>
#include <fastserve/http/limits.hpp>

int main() {
    namespace http = fastserve::http;
    const std::error_code error = http::errc::head_too_large; // needs the archive, not only the headers
    const bool right = error.message() == http::message_of(http::errc::head_too_large) &&
                       http::status_of(http::errc::head_too_large) == 431 && http::limits{}.head_fields > 0;
    return right ? 0 : 1;
}
