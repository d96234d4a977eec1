#include <fastserve/http/error.hpp>
#include <fastserve/http/error_category.hpp>

namespace fastserve::http {

std::string_view message_of(errc e) noexcept {
    switch (e) {
    case errc::ok:
        return "success";
    case errc::bad_request_line:
        return "malformed request line";
    case errc::bad_method:
        return "method is not a token";
    case errc::unknown_method:
        return "unknown method";
    case errc::bad_target:
        return "malformed request target";
    case errc::target_too_long:
        return "request target exceeds the limit";
    case errc::bad_version:
        return "malformed HTTP version";
    case errc::unsupported_version:
        return "unsupported HTTP version";
    case errc::bad_field_name:
        return "malformed field name";
    case errc::bad_field_value:
        return "malformed field value";
    case errc::bad_line_end:
        return "line does not end in CRLF";
    case errc::obsolete_fold:
        return "folded field line";
    case errc::head_too_large:
        return "head exceeds the limit";
    case errc::too_many_fields:
        return "more fields than the limit";
    case errc::missing_host:
        return "no Host field";
    case errc::duplicate_host:
        return "more than one Host field";
    case errc::bad_host:
        return "malformed Host";
    case errc::bad_content_length:
        return "malformed Content-Length";
    case errc::duplicate_content_length:
        return "more than one Content-Length";
    case errc::bad_transfer_encoding:
        return "Transfer-Encoding that does not frame a request";
    case errc::unknown_transfer_coding:
        return "unknown transfer coding";
    case errc::length_and_chunked:
        return "both Content-Length and Transfer-Encoding";
    case errc::bad_chunk_size:
        return "malformed chunk size";
    case errc::bad_chunk_extension:
        return "malformed chunk extension";
    case errc::bad_chunk_end:
        return "chunk data does not end in CRLF";
    case errc::chunk_line_too_long:
        return "chunk line exceeds the limit";
    case errc::chunk_overhead_too_large:
        return "chunk extensions exceed the limit";
    case errc::bad_trailer:
        return "malformed trailer section";
    case errc::trailer_too_large:
        return "trailer section exceeds the limit";
    case errc::too_many_trailer_fields:
        return "more trailer fields than the limit";
    case errc::body_too_large:
        return "body exceeds the limit";
    case errc::incomplete_body:
        return "the peer ended before its body did";
    case errc::expectation_failed:
        return "unknown expectation";
    case errc::head_timeout:
        return "head did not arrive in time";
    case errc::body_timeout:
        return "body did not arrive in time";
    }
    return "unknown error";
}

const std::error_category& http_category() noexcept {
    static const error_category<errc> instance("fastserve.http");
    return instance;
}

} // namespace fastserve::http
