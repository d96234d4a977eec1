#include <fastserve/http/safe_filename.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>
#include <string_view>

namespace {

using namespace fastserve::http;
using namespace std::string_literals;

TEST(safe_filename, table) {
    const std::string long_name(300, 'n');
    const struct {
        std::string given, safe;
    } rows[] = {
        {"report.pdf", "report.pdf"},
        {"\u65E5\u672C \u00E9 \U0001F3D6.txt", "\u65E5\u672C \u00E9 \U0001F3D6.txt"},
        {"a'&$`()[]{};%~#+=@!^,.txt", "a'&$`()[]{};%~#+=@!^,.txt"},
        // Folders.
        {"/etc/passwd", "passwd"},
        {"../../etc/passwd", "passwd"},
        {"C:\\dir\\file.txt", "file.txt"},
        {"\\\\host\\share", "share"},
        {"a\\b/c\\d", "d"},
        {"dir/", "_"},
        {"..%2fpasswd", "%2fpasswd"},
        // What is nothing, or hidden.
        {"", "_"},
        {".", "_"},
        {"..", "_"},
        {". . .", "_"},
        {"/", "_"},
        {"..\\..", "_"},
        {".htaccess", "htaccess"},
        {"..a", "a"},
        {" a ", "a"},
        {"a.txt. . ", "a.txt"},
        {"-rf", "_rf"},
        {"a-b", "a-b"},
        // Bytes.
        {"a\0.txt"s, "a_.txt"},
        {"a\r\nb\x1b\x7f", "a__b__"},
        {"a<b>c:d\"e|f?g*h", "a_b_c_d_e_f_g_h"},
        {"file.txt:stream", "file.txt_stream"},
        {"\t.txt", "_.txt"},
        // Not UTF-8: cut short, overlong, a surrogate, too large, out of place.
        {"a\xC3", "a_"},
        {"\xE9t\xE9", "_t_"},
        {"\xC0\xAF", "__"},
        {"\xE0\x80\xAF", "___"},
        {"\xED\xA0\x80", "___"},
        {"\xF4\x90\x80\x80", "____"},
        {"\xF0\x8F\xBF\xBF", "____"},
        {"\x80\xBF\xFF", "___"},
        {"\xF0\x9F\x8F", "___"},
        {"\xF0\x9F\x8Fx", "___x"},
        // Controls of C1 and of direction, one '_' each.
        {"a\u0085b\u009Fc", "a_b_c"},
        {"a\u202Egpj.exe", "a_gpj.exe"},
        {"a\u2028\u2029\u202A\u2066\u2069b", "a_____b"},
        {"a\u200D\u2030\u2065\u00A0", "a\u200D\u2030\u2065\u00A0"},
        // Devices.
        {"con", "_con"},
        {"NUL.txt", "_NUL.txt"},
        {"aux .tar.gz", "_aux .tar.gz"},
        {"PRN.", "_PRN"},
        {"com0", "_com0"},
        {"Lpt9.x", "_Lpt9.x"},
        {"COM\u00B9", "_COM\u00B9"},
        {"CONIN$", "_CONIN$"},
        {"conOUT$.x", "_conOUT$.x"},
        {"con:", "con_"},
        {"com", "com"},
        {"com10", "com10"},
        {"comx", "comx"},
        {"console.txt", "console.txt"},
        {"a.con", "a.con"},
        // Length.
        {long_name, long_name.substr(0, 255)},
        {long_name + ".tar.gz", long_name.substr(0, 252) + ".gz"},
        {long_name.substr(0, 251) + ".txt", long_name.substr(0, 251) + ".txt"},
        {long_name + ".a-long-extension", (long_name + ".").substr(0, 255)},
        {long_name.substr(0, 254) + "\u00E9", long_name.substr(0, 254)},
        {"con" + std::string(300, ' ') + "x.txt", "_con.txt"},
        {"nul." + std::string(251, 'x'), "_nul." + std::string(250, 'x')},
    };
    for (const auto& row : rows) EXPECT_EQ(safe_filename(row.given), row.safe) << row.given;
}

TEST(safe_filename, holds_for_any_bytes) {
    const unsigned seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
    const std::string_view words[] = {"con", "NUL",    "com1",   ".",          " ", "-",    "/", "\\",
                                      ":",   "\u00E9", "\u202E", "\U0001F3D6", "n", "\xC3", "\n"};
    for (int round = 0; round < 20'000; ++round) {
        std::string given;
        for (std::size_t n = below(12); n-- > 0;) {
            if (below(4) == 0)
                given += static_cast<char>(below(256));
            else
                for (std::size_t times = below(20) == 0 ? 150 : 1; times-- > 0;)
                    given += words[below(std::size(words))];
        }
        std::string memory(given.size() + 1, '\0'); // exactly what it may use
        memory.resize(write_safe_filename(given, memory.data()));
        ASSERT_EQ(memory, safe_filename(given)) << "seed " << seed;
        ASSERT_FALSE(memory.empty());
        ASSERT_LE(memory.size(), safe_filename_bytes);
        ASSERT_EQ(memory.find_first_of("/\\:\n\r"s + '\0'), memory.npos) << memory;
        ASSERT_EQ(std::string_view(". -").find(memory[0]), std::string_view::npos) << memory;
        ASSERT_NE(memory.back(), '.') << memory;
        ASSERT_NE(memory.back(), ' ') << memory;
        ASSERT_EQ(safe_filename(memory), memory) << given << " seed " << seed;
    }
}

} // namespace
