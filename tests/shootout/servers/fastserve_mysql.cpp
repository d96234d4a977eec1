// The first rows of a table, as JSON: libmariadb's non-blocking calls on the worker's own loop, a pool of connections a
// worker, nothing of fastserve but its public API.
//
//     fastserve_mysql ADDRESS WORKERS DATABASE_PORT SQL      WORKERS 0: one a CPU; {rows} in SQL is the table's size
#include <fastserve/fastserve.hpp>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <mysql.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace json = boost::json;

struct close_connection {
    void operator()(MYSQL* m) const noexcept { mysql_close(m); }
};
using connection = std::unique_ptr<MYSQL, close_connection>;

struct free_result {
    void operator()(MYSQL_RES* r) const noexcept { mysql_free_result(r); }
};

[[noreturn]] void fail(MYSQL* m) {
    throw std::runtime_error(mysql_error(m));
}

// What libmariadb waits for, awaited; what has become true.
fastserve::awaitable<int> until_ready(MYSQL* m, int waits_for) {
    const int fd = mysql_get_socket(m);
    const bool reads = (waits_for & MYSQL_WAIT_READ) != 0;
    const fastserve::result<void> ready = reads ? co_await fastserve::readable(fd) : co_await fastserve::writable(fd);
    if (!ready) throw std::runtime_error("the database is gone: " + ready.error().message());
    co_return reads ? MYSQL_WAIT_READ : MYSQL_WAIT_WRITE;
}

// A worker's connections that nobody uses just now. It has as many as were ever in use at once.
class pool {
public:
    explicit pool(unsigned port) : port_(port) {}

    fastserve::awaitable<connection> take() {
        if (idle_.empty()) co_return co_await open();
        connection c = std::move(idle_.back());
        idle_.pop_back();
        co_return c;
    }
    // Only after a whole answer: what is left in the middle of one is closed by its owner.
    void give_back(connection c) { idle_.push_back(std::move(c)); }

private:
    fastserve::awaitable<connection> open() {
        connection c(mysql_init(nullptr));
        mysql_options(c.get(), MYSQL_OPT_NONBLOCK, nullptr);
        MYSQL* done = nullptr;
        int status = mysql_real_connect_start(&done, c.get(), "127.0.0.1", "shootout", "shootout", "shootout", port_,
                                              nullptr, 0);
        while (status != 0) {
            const int ready = co_await until_ready(c.get(), status);
            status = mysql_real_connect_cont(&done, c.get(), ready);
        }
        if (!done) fail(c.get());
        co_return c;
    }

    unsigned port_;
    std::vector<connection> idle_;
};

fastserve::awaitable<json::array> ask(MYSQL* m, const std::string& sql) {
    int failed = 0;
    int status = mysql_real_query_start(&failed, m, sql.data(), sql.size());
    while (status != 0) {
        const int ready = co_await until_ready(m, status);
        status = mysql_real_query_cont(&failed, m, ready);
    }
    if (failed != 0) fail(m);
    MYSQL_RES* stored = nullptr;
    status = mysql_store_result_start(&stored, m);
    while (status != 0) {
        const int ready = co_await until_ready(m, status);
        status = mysql_store_result_cont(&stored, m, ready);
    }
    const std::unique_ptr<MYSQL_RES, free_result> result(stored);
    if (!result) fail(m);
    json::array rows;
    while (const MYSQL_ROW row = mysql_fetch_row(result.get()))
        rows.push_back({std::strtoll(row[0], nullptr, 10), row[1], std::strtoll(row[2], nullptr, 10)});
    co_return rows;
}

std::string with_rows(std::string_view sql, std::uint64_t rows) {
    static constexpr std::string_view mark = "{rows}";
    std::string out(sql);
    if (const auto at = out.find(mark); at != out.npos) out.replace(at, mark.size(), std::to_string(rows));
    return out;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fputs("usage: fastserve_mysql ADDRESS WORKERS DATABASE_PORT SQL\n", stderr);
        return 2;
    }
    mysql_library_init(0, nullptr, nullptr);
    fastserve::server app({.workers = static_cast<unsigned>(std::atoi(argv[2]))});
    const auto port = static_cast<unsigned>(std::atoi(argv[3]));
    const std::string_view sql = argv[4];
    fastserve::per_worker<pool> pools(app, [port](fastserve::worker&) { return pool(port); });
    app.get("/items/{rows}",
            [&pools, sql](fastserve::request& req, fastserve::response& res) -> fastserve::awaitable<> {
                const auto rows = req.param<std::uint64_t>("rows");
                if (!rows) {
                    res.problem(400, "the size of a table is a number");
                    co_return;
                }
                pool& own = pools(req);
                connection c = co_await own.take();
                const json::array found = co_await ask(c.get(), with_rows(sql, *rows));
                own.give_back(std::move(c));
                res.json(found);
            });
    return app.run(argv[1]);
}
