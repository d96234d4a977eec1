// Which answers are worth coding, and what coding them does to their validators. That an answer depends on
// Accept-Encoding (Vary) is for whoever negotiates to say, also where the answer then goes out as it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fastserve::coding {

// Shorter bodies are better sent as they are: they fit into one packet either way.
inline constexpr std::size_t default_min_bytes = 1024;

// Whether bodies of this media type usually shrink: `type` is a Content-Type's value, with or without parameters, in
// any case. Text of every kind is (text/*, JSON, XML, JavaScript, SVG, +json, +xml ...), and WebAssembly, bitmaps and
// fonts that are not compressed by themselves; images, audio, video, archives and what nobody knows are not.
//
// It knows nothing of what stands in the body: one that holds a secret beside text that a stranger may choose tells the
// secret by its coded length, try by try (BREACH). Such answers should go out as they are.
bool worth_coding(std::string_view type) noexcept;

// The entity tag of the coded form of what has this one: weak, since its bytes differ (RFC 9110 8.8.1). A weak one
// stays as it is, and so does what is no entity tag. May throw std::bad_alloc.
std::string weakened(std::string_view entity_tag);

} // namespace fastserve::coding
