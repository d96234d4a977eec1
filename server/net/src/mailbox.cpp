#include <fastserve/net/mailbox.hpp>

namespace fastserve::net {

result<std::shared_ptr<mailbox>> mailbox::open() {
    const sys::io_result event = sys::eventfd();
    if (!event.ok()) return sys::to_error_code(event.error);
    return std::shared_ptr<mailbox>(new mailbox(event.descriptor()));
}

} // namespace fastserve::net
