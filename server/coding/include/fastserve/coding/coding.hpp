// Which content codings this build can do, and how hard it tries.
#pragma once

#include <fastserve/http/content_coding.hpp>

namespace fastserve::coding {

// What is negotiated is what is coded. So that coding::gzip names it, inside this namespace and outside.
using http::content_coding;
using enum http::content_coding;

// Whether encoders and decoders of it can be opened: the library may be built without one or the other. True for
// identity, which needs none.
bool available(content_coding c) noexcept;

// The level an encoder has unless told otherwise: what a server can afford for each answer. 0 for identity.
constexpr int default_level(content_coding c) noexcept {
    switch (c) {
    case identity: return 0;
    case gzip:
    case deflate: return 6;
    case br: return 4;
    case zstd: return 3;
    }
    return 0;
}

} // namespace fastserve::coding
