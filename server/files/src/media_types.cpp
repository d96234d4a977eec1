#include <fastserve/files/media_types.hpp>

#include <algorithm>
#include <array>
#include <iterator>

namespace fastserve::files {
namespace {

struct media_type {
    std::string_view extension; // in lower case
    std::string_view type;
};

constexpr std::string_view plain = "text/plain; charset=utf-8";
constexpr std::string_view html = "text/html; charset=utf-8";
constexpr std::string_view script = "text/javascript; charset=utf-8"; // RFC 9239, and not application/

// IANA's registry, and the MIME Sniffing standard where browsers do otherwise. What is registered nowhere has the name
// under which it is known. Sources of programs are there to be read: text/plain. ".ts" is a segment of a video (HLS),
// and not TypeScript, which no browser runs. ".svgz" is missing because it would need a Content-Encoding.
constexpr media_type table[] = {
    {"3g2", "video/3gpp2"},
    {"3gp", "video/3gpp"},
    {"7z", "application/x-7z-compressed"},
    {"aac", "audio/aac"},
    {"ac3", "audio/ac3"},
    {"ai", "application/postscript"},
    {"aif", "audio/x-aiff"},
    {"aiff", "audio/x-aiff"},
    {"amr", "audio/amr"},
    {"apk", "application/vnd.android.package-archive"},
    {"apng", "image/apng"},
    {"arrow", "application/vnd.apache.arrow.file"},
    {"asc", plain},
    {"atom", "application/atom+xml"},
    {"au", "audio/basic"},
    {"avi", "video/x-msvideo"},
    {"avif", "image/avif"},
    {"bin", unknown_media_type},
    {"bmp", "image/bmp"},
    {"bz2", "application/x-bzip2"},
    {"c", plain},
    {"cab", "application/vnd.ms-cab-compressed"},
    {"cbor", "application/cbor"},
    {"cc", plain},
    {"cer", "application/pkix-cert"},
    {"cfg", plain},
    {"cjs", script},
    {"conf", plain},
    {"cpp", plain},
    {"crl", "application/pkix-crl"},
    {"crt", "application/x-x509-ca-cert"},
    {"crx", "application/x-chrome-extension"},
    {"css", "text/css; charset=utf-8"},
    {"csv", "text/csv; charset=utf-8"},
    {"deb", "application/vnd.debian.binary-package"},
    {"der", "application/x-x509-ca-cert"},
    {"diff", plain},
    {"djvu", "image/vnd.djvu"},
    {"dll", "application/vnd.microsoft.portable-executable"},
    {"dmg", "application/x-apple-diskimage"},
    {"doc", "application/msword"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"dtd", "application/xml-dtd"},
    {"dxf", "image/vnd.dxf"},
    {"ear", "application/java-archive"},
    {"emf", "image/emf"},
    {"eml", "message/rfc822"},
    {"eot", "application/vnd.ms-fontobject"},
    {"eps", "application/postscript"},
    {"epub", "application/epub+zip"},
    {"exe", "application/vnd.microsoft.portable-executable"},
    {"flac", "audio/flac"},
    {"flv", "video/x-flv"},
    {"geojson", "application/geo+json"},
    {"gif", "image/gif"},
    {"glb", "model/gltf-binary"},
    {"gltf", "model/gltf+json"},
    {"go", plain},
    {"gpx", "application/gpx+xml"},
    {"graphql", "application/graphql"},
    {"gz", "application/gzip"},
    {"h", plain},
    {"heic", "image/heic"},
    {"heif", "image/heif"},
    {"hpp", plain},
    {"htm", html},
    {"html", html},
    {"ico", "image/vnd.microsoft.icon"},
    {"ics", "text/calendar; charset=utf-8"},
    {"ini", plain},
    {"ipynb", "application/x-ipynb+json"},
    {"iso", "application/vnd.efi.iso"},
    {"jar", "application/java-archive"},
    {"java", plain},
    {"jfif", "image/jpeg"},
    {"jp2", "image/jp2"},
    {"jpe", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", script},
    {"json", "application/json"},
    {"jsonl", "application/jsonl"},
    {"jsonld", "application/ld+json"},
    {"jxl", "image/jxl"},
    {"kml", "application/vnd.google-earth.kml+xml"},
    {"kmz", "application/vnd.google-earth.kmz"},
    {"ktx", "image/ktx"},
    {"ktx2", "image/ktx2"},
    {"log", plain},
    {"m3u8", "application/vnd.apple.mpegurl"},
    {"m4a", "audio/mp4"},
    {"m4s", "video/iso.segment"},
    {"m4v", "video/mp4"},
    {"map", "application/json"},
    {"markdown", "text/markdown; charset=utf-8"},
    {"mathml", "application/mathml+xml"},
    {"md", "text/markdown; charset=utf-8"},
    {"mid", "audio/midi"},
    {"midi", "audio/midi"},
    {"mjs", script},
    {"mka", "audio/matroska"},
    {"mkv", "video/matroska"},
    {"mobi", "application/x-mobipocket-ebook"},
    {"mov", "video/quicktime"},
    {"mp2", "audio/mpeg"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"mpd", "application/dash+xml"},
    {"mpeg", "video/mpeg"},
    {"mpg", "video/mpeg"},
    {"mtl", "model/mtl"},
    {"ndjson", "application/x-ndjson"},
    {"obj", "model/obj"},
    {"odp", "application/vnd.oasis.opendocument.presentation"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"oga", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"ogv", "video/ogg"},
    {"ogx", "application/ogg"},
    {"opus", "audio/ogg"},
    {"otf", "font/otf"},
    {"p12", "application/pkcs12"},
    {"parquet", "application/vnd.apache.parquet"},
    {"patch", plain},
    {"pdf", "application/pdf"},
    {"pem", "application/x-pem-file"},
    {"pfx", "application/pkcs12"},
    {"png", "image/png"},
    {"ppt", "application/vnd.ms-powerpoint"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"proto", plain},
    {"ps", "application/postscript"},
    {"psd", "image/vnd.adobe.photoshop"},
    {"py", plain},
    {"qt", "video/quicktime"},
    {"rar", "application/vnd.rar"},
    {"rdf", "application/rdf+xml"},
    {"rpm", "application/x-rpm"},
    {"rs", plain},
    {"rss", "application/rss+xml"},
    {"rst", plain},
    {"rtf", "application/rtf"},
    {"sh", "application/x-sh"},
    {"shtml", html},
    {"sig", "application/pgp-signature"},
    {"sql", "application/sql"},
    {"sqlite", "application/vnd.sqlite3"},
    {"srt", "application/x-subrip"},
    {"step", "model/step"},
    {"stl", "model/stl"},
    {"stp", "model/step"},
    {"svg", "image/svg+xml"},
    {"swf", "application/vnd.adobe.flash.movie"},
    {"tar", "application/x-tar"},
    {"tex", "application/x-tex"},
    {"text", plain},
    {"tgz", "application/gzip"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"toml", "application/toml"},
    {"torrent", "application/x-bittorrent"},
    {"ts", "video/mp2t"},
    {"tsv", "text/tab-separated-values; charset=utf-8"},
    {"ttc", "font/collection"},
    {"ttf", "font/ttf"},
    {"ttml", "application/ttml+xml"},
    {"txt", plain},
    {"usdz", "model/vnd.usdz+zip"},
    {"vcf", "text/vcard; charset=utf-8"},
    {"vsd", "application/vnd.visio"},
    {"vtt", "text/vtt; charset=utf-8"},
    {"war", "application/java-archive"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"weba", "audio/webm"},
    {"webm", "video/webm"},
    {"webmanifest", "application/manifest+json"},
    {"webp", "image/webp"},
    {"wma", "audio/x-ms-wma"},
    {"wmf", "image/wmf"},
    {"wmv", "video/x-ms-wmv"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"wsdl", "application/wsdl+xml"},
    {"xht", "application/xhtml+xml"},
    {"xhtml", "application/xhtml+xml"},
    {"xls", "application/vnd.ms-excel"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"xpi", "application/x-xpinstall"},
    {"xsd", "application/xml"},
    {"xsl", "application/xslt+xml"},
    {"xslt", "application/xslt+xml"},
    {"xz", "application/x-xz"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
};

constexpr bool before(const media_type& a, const media_type& b) noexcept {
    return a.extension < b.extension;
}
// Ascending, and each once.
static_assert(std::adjacent_find(std::begin(table), std::end(table), [](const media_type& a, const media_type& b) {
                  return !before(a, b);
              }) == std::end(table));
static_assert(std::all_of(std::begin(table), std::end(table), [](const media_type& m) {
    return std::all_of(m.extension.begin(), m.extension.end(),
                       [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}));

constexpr std::size_t longest_extension =
    std::max_element(std::begin(table), std::end(table), [](const media_type& a, const media_type& b) {
        return a.extension.size() < b.extension.size();
    })->extension.size();

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

} // namespace

std::string_view find_media_type(std::string_view extension) noexcept {
    if (extension.size() > longest_extension) return {};
    std::array<char, longest_extension> small{};
    std::transform(extension.begin(), extension.end(), small.begin(), lower);
    const media_type wanted{std::string_view(small.data(), extension.size()), {}};
    const media_type* const at = std::lower_bound(std::begin(table), std::end(table), wanted, before);
    return at != std::end(table) && at->extension == wanted.extension ? at->type : std::string_view();
}

} // namespace fastserve::files
