#include <fastserve/http/multipart_error.hpp>
#include <fastserve/http/error_category.hpp>

namespace fastserve::http {

std::string_view message_of(multipart_errc e) noexcept {
    switch (e) {
    case multipart_errc::ok: return "success";
    case multipart_errc::not_form_data: return "content is not multipart/form-data";
    case multipart_errc::bad_content_type: return "malformed Content-Type";
    case multipart_errc::missing_boundary: return "no boundary in Content-Type";
    case multipart_errc::bad_boundary: return "boundary is not 1 to 70 of the characters it may have";
    case multipart_errc::bad_delimiter: return "boundary is followed by neither the end of its line nor two hyphens";
    case multipart_errc::bad_line_end: return "line of a multipart body does not end in CRLF";
    case multipart_errc::bad_field: return "malformed field line of a part";
    case multipart_errc::duplicate_field: return "Content-Disposition or Content-Type of a part came twice";
    case multipart_errc::missing_disposition: return "part without Content-Disposition";
    case multipart_errc::bad_disposition: return "malformed Content-Disposition, or not form-data";
    case multipart_errc::missing_name: return "part without a name";
    case multipart_errc::incomplete: return "multipart body ends before its last boundary";
    case multipart_errc::too_many_parts: return "more parts than the limit";
    case multipart_errc::head_too_large: return "head of a part exceeds the limit";
    case multipart_errc::too_many_fields: return "part has more field lines than the limit";
    case multipart_errc::name_too_long: return "name of a part exceeds the limit";
    case multipart_errc::filename_too_long: return "file name of a part exceeds the limit";
    case multipart_errc::field_too_large: return "field of a form exceeds the limit";
    case multipart_errc::file_too_large: return "file of a form exceeds the limit";
    case multipart_errc::total_too_large: return "multipart body exceeds the limit";
    case multipart_errc::preamble_too_large: return "text before the first boundary exceeds the limit";
    case multipart_errc::epilogue_too_large: return "text behind the last boundary exceeds the limit";
    }
    return "unknown error";
}

const std::error_category& multipart_category() noexcept {
    static const error_category<multipart_errc> instance("fastserve.multipart");
    return instance;
}

} // namespace fastserve::http
