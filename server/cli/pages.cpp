#include "pages.hpp"

#include <boost/json/value.hpp>

#include <string>
#include <string_view>

namespace fastserve::cli {

namespace json = boost::json;

void add_pages(router& app) {
    app.get("/", [](request&, response& res) { res.bytes(std::string("hello world"), "text/plain"); });
    app.get("/plaintext", [](request&, response& res) { res.bytes(std::string("Hello, World!"), "text/plain"); });
    // Built and serialized for each request, as a service would.
    app.get("/json", [] { return json::value{{"message", "Hello, World!"}}; });
    app.get("/api/v3/json", [](request& req, response& res) {
        res.json({{"status", "ok"},
                  {"version", 3},
                  {"path", json::string_view(req.path().data(), req.path().size())},
                  {"data", {{"id", 1}, {"name", "fastserve"}, {"tags", {"http", "c++20", "asio"}}}}});
    });
    // The body back, with its type.
    app.any("/echo", [](request& req, response& res) {
        const auto type = req.field("Content-Type");
        res.set("Content-Type", type ? *type : std::string_view("application/octet-stream"));
        res.bytes(std::string(req.body()), "application/octet-stream");
    });
}

} // namespace fastserve::cli
