// Walks through every interleaving of a few threads that use a free_list, on mock atomics, and compares the list with a
// model after each step.
//
// What it shows and what not: the mock memory is sequentially consistent. Each access to it is one step, and every
// order of steps is explored; reorderings that weaker memory orders permit are not. Those are argued for in
// docs/pool.md and watched by ThreadSanitizer in the stress test. compare_exchange_weak never fails for no reason here:
// a loop that repeats with an unchanged expectation reaches no new state.
//
// How: no threads, no fibers. A thread is its script, its place in it, and the results of the accesses that its current
// operation has made so far. To take one more step the operation is run again from its start: recorded accesses return
// what they returned, the next one is done and recorded, and all later ones return a value that makes every loop end,
// and are forgotten. A failed exchange of the head leaves an operation where its first look at the head did, so that
// what lies between the two is dropped from the record (a replay that then asks for another cell than recorded is a
// fault). States that were visited are not explored again.
#pragma once

#include <fastserve/pool/free_list.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace fastserve::pool::interleaving {

// A vector that is copied as cheaply as the states that hold it need.
template <class T, std::size_t N>
struct fixed_vector {
    std::array<T, N> items{};
    std::uint8_t size = 0;
    void push_back(T item) { items.at(size++) = item; }
    void erase_front() {
        std::copy(items.begin() + 1, items.begin() + size, items.begin());
        --size;
    }
    const T* begin() const { return items.data(); }
    const T* end() const { return items.data() + size; }
};

inline constexpr std::uint32_t slots = 4;
inline constexpr std::size_t head_cell = 0;
inline constexpr std::size_t cells = 1 + 2 * slots; // head, next of each slot, next_magazine of each slot

struct access {
    std::uint8_t cell = 0;
    bool changes = false; // a compare-exchange that succeeded
    std::uint64_t seen = 0;
};
using access_log = fixed_vector<access, 16>;
using memory = std::array<std::uint64_t, cells>;

// The machine that the mocks talk to.
class machine {
public:
    // Answers, in the order in which the list's parts are constructed: its head first, then the arrays.
    std::size_t new_cell(std::uint64_t value) {
        words->at(made) = value;
        return made++;
    }

    template <class F>
    std::uint64_t step(std::size_t cell, F change) {
        if (position != log->size) {
            astray |= log->items[position].cell != cell;
            return log->items[position++].seen;
        }
        if (stepped) {
            stopped = true;
            return null_index; // as a head: empty list; as a link: end of the chain
        }
        std::uint64_t& word = (*words)[cell];
        const std::uint64_t seen = word;
        const bool changed = change(word);
        log->push_back({static_cast<std::uint8_t>(cell), changed && cell == head_cell, seen});
        ++position;
        stepped = true;
        return seen;
    }

    memory* words = nullptr;
    access_log* log = nullptr;
    std::size_t made = 0;
    std::size_t position = 0;
    bool stepped = false;
    bool stopped = false;
    bool astray = false;

    // After a step: forgets the attempts of the current operation that failed.
    void forget_failed_attempts() {
        if (log->size == 0 || log->items[log->size - 1u].cell != head_cell || log->items[log->size - 1u].changes)
            return;
        const auto of_head = [](const access& one) { return one.cell == head_cell; };
        access* const first = std::find_if(log->items.data(), log->items.data() + log->size, of_head);
        *first = log->items[log->size - 1u];
        log->size = static_cast<std::uint8_t>(first - log->items.data() + 1);
    }
};
inline machine* running = nullptr;

template <class U>
class mock_atomic {
public:
    mock_atomic(U value = 0) : cell_{running->new_cell(value)} {}
    U load(std::memory_order = std::memory_order_seq_cst) const {
        return static_cast<U>(running->step(cell_, [](std::uint64_t&) { return false; }));
    }
    void store(U value, std::memory_order = std::memory_order_seq_cst) {
        running->step(cell_, [value](std::uint64_t& word) {
            word = value;
            return true;
        });
    }
    bool compare_exchange_weak(U& expected, U desired, std::memory_order, std::memory_order) {
        const bool replayed = running->position != running->log->size;
        if (!replayed && running->stepped) {
            running->stopped = true;
            return true;
        }
        const U wanted = expected;
        expected = static_cast<U>(running->step(cell_, [wanted, desired](std::uint64_t& word) {
            if (word != wanted) return false;
            word = desired;
            return true;
        }));
        return expected == wanted;
    }

private:
    std::size_t cell_;
};

struct mock_atomics {
    template <class U>
    using atomic = mock_atomic<U>;
    // Plain memory takes part too: a list that touched links of slots it does not own would be caught.
    template <class U>
    using cell = mock_atomic<U>;
};

enum class operation : char {
    pop = 'p',        // one magazine
    put_oldest = 'o', // the magazine held longest
    put_newest = 'n', // the magazine held shortest
    take_all = 't',   // every magazine
    put_all = 'a',    // all that are held, as one chain
};

struct report {
    std::size_t states = 0;
    std::size_t ends = 0;
    std::string fault; // the schedule that leads to the first fault, empty when there is none
};

// The list begins with the first `magazines` of {0,1}, {2}, {3}; each thread runs a script of operations, one character
// each. Putting when nothing is held does nothing.
template <unsigned TagBits>
class explorer {
public:
    explorer(std::vector<std::string> scripts, std::size_t magazines) : scripts_{std::move(scripts)} {
        running = &machine_;
        state start;
        machine_.words = &start.words;
        list_.emplace();
        next_.emplace();
        next_magazine_.emplace();
        list_->attach(next_->data(), next_magazine_->data());
        for (std::size_t i = 0; i != magazines; ++i) link_initial(start, i, i + 1 == magazines);
        if (magazines != 0) start.words[head_cell] = word{contents[0][0], 0}.to_word();
        for (std::size_t i = 0; i != magazines; ++i) start.model.push_back(static_cast<std::uint8_t>(contents[i][0]));
        explore(start);
    }

    report result;

private:
    using list = free_list<mock_atomics, TagBits>;
    using word = typename list::word;
    using held_list = fixed_vector<std::uint8_t, slots>;

    static inline const std::array<std::vector<std::uint32_t>, 3> contents{{{0, 1}, {2}, {3}}};
    static constexpr std::size_t next_cell(std::uint32_t slot) { return 1 + slot; }
    static constexpr std::size_t next_magazine_cell(std::uint32_t slot) { return 1 + slots + slot; }

    struct thread {
        std::uint8_t position = 0;
        access_log log;
        held_list held; // first slots of magazines, oldest first
    };
    struct state {
        memory words{};
        std::array<thread, 3> threads;
        held_list model; // what the list should hold, top first
    };

    static void link_initial(state& start, std::size_t magazine, bool last) {
        const auto& chain = contents[magazine];
        for (std::size_t i = 0; i != chain.size(); ++i) {
            start.words[next_cell(chain[i])] = i + 1 == chain.size() ? null_index : chain[i + 1];
        }
        start.words[next_magazine_cell(chain[0])] = last ? null_index : contents[magazine + 1][0];
    }

    void explore(const state& from) {
        if (!result.fault.empty() || !visited_.insert(key(from)).second) return;
        ++result.states;
        bool ended = true;
        for (std::size_t i = 0; i != scripts_.size(); ++i) {
            if (from.threads[i].position == scripts_[i].size()) continue;
            ended = false;
            state to = from;
            schedule_ += static_cast<char>('0' + i);
            step(to, i);
            if (result.fault.empty()) explore(to);
            schedule_.pop_back();
        }
        if (ended) ++result.ends;
    }

    // All that decides the future.
    std::string key(const state& of) const {
        std::string bytes;
        bytes.reserve(256);
        const auto add = [&bytes](const auto* from, std::size_t count) {
            bytes.append(reinterpret_cast<const char*>(from), count * sizeof *from);
        };
        add(of.words.data(), of.words.size());
        for (std::size_t i = 0; i != scripts_.size(); ++i) {
            const thread& one = of.threads[i];
            bytes += static_cast<char>(one.position);
            bytes += static_cast<char>(one.held.size);
            bytes += static_cast<char>(one.log.size);
            add(one.held.items.data(), one.held.size);
            for (std::size_t k = 0; k != one.log.size; ++k) {
                bytes += static_cast<char>(one.log.items[k].cell);
                bytes += static_cast<char>(one.log.items[k].changes);
                add(&one.log.items[k].seen, 1);
            }
        }
        return bytes;
    }

    void step(state& at, std::size_t number) {
        thread& one = at.threads[number];
        machine_.words = &at.words;
        machine_.log = &one.log;
        machine_.position = 0;
        machine_.stepped = machine_.stopped = false;
        const std::size_t before = one.log.size;
        const auto what = static_cast<operation>(scripts_[number][one.position]);
        const held_list held = one.held;
        const held_list got = perform(what, held);

        const bool moved = one.log.size != before && one.log.items[before].changes;
        machine_.forget_failed_attempts();
        if (machine_.astray) return fail("a replay went astray");
        if (moved) change_model(at, what, held);
        if (!matches(at)) return fail("the list is not what the model says");
        if (machine_.stopped) return;
        if (bad_content_) return fail("a magazine has lost or gained slots");
        finish(one, what, got);
    }

    // Runs the operation as far as it gets. The magazines it took.
    held_list perform(operation what, const held_list& held) {
        held_list got;
        bad_content_ = false;
        switch (what) {
        case operation::pop: {
            std::array<std::uint32_t, list::magazine_slots> out{};
            const std::uint32_t count = list_->pop(out.data());
            if (!machine_.stopped && count != 0) take({out.begin(), out.begin() + count}, got);
            break;
        }
        case operation::put_oldest:
        case operation::put_newest:
            if (held.size != 0) {
                const auto& chain = content_of(what == operation::put_oldest ? *held.begin() : held.end()[-1]);
                list_->push(chain.data(), static_cast<std::uint32_t>(chain.size()));
            }
            break;
        case operation::take_all:
            for (std::uint32_t first = list_->take_all(); !machine_.stopped && first != null_index;) {
                std::vector<std::uint32_t> chain;
                for (std::uint32_t slot = first; slot != null_index && chain.size() <= slots;
                     slot = list_->next(slot)) {
                    chain.push_back(slot);
                }
                const std::uint32_t following = list_->next_magazine(first);
                if (!machine_.stopped) take(chain, got);
                if (bad_content_) break;
                first = following;
            }
            break;
        case operation::put_all:
            for (std::size_t i = 0; i + 1 < held.size; ++i) list_->link_after(held.items[i], held.items[i + 1]);
            if (held.size != 0) list_->push_chain(*held.begin(), held.end()[-1]);
            break;
        }
        return got;
    }

    void take(const std::vector<std::uint32_t>& chain, held_list& got) {
        bad_content_ |= chain != content_of(chain[0]) || got.size == slots;
        if (!bad_content_) got.push_back(static_cast<std::uint8_t>(chain[0]));
    }

    const std::vector<std::uint32_t>& content_of(std::uint32_t first) const {
        static const std::vector<std::uint32_t> nothing;
        for (const auto& chain : contents) {
            if (chain[0] == first) return chain;
        }
        return nothing;
    }

    // The head has just been exchanged: that is the moment at which the operation happens.
    static void change_model(state& at, operation what, const held_list& held) {
        held_list& model = at.model;
        held_list added;
        switch (what) {
        case operation::pop:
            model.erase_front();
            return;
        case operation::take_all:
            model = {};
            return;
        case operation::put_oldest:
            added.push_back(*held.begin());
            break;
        case operation::put_newest:
            added.push_back(held.end()[-1]);
            break;
        case operation::put_all:
            added = held;
            break;
        }
        for (const std::uint8_t first : model) added.push_back(first);
        model = added;
    }

    static bool matches(const state& at) {
        std::uint32_t magazine = word::from_word(at.words[head_cell]).index();
        for (const std::uint8_t expected : at.model) {
            if (magazine != expected) return false;
            magazine = static_cast<std::uint32_t>(at.words[next_magazine_cell(magazine)]);
        }
        return magazine == null_index;
    }

    static void finish(thread& one, operation what, const held_list& got) {
        switch (what) {
        case operation::put_oldest:
            if (one.held.size != 0) one.held.erase_front();
            break;
        case operation::put_newest:
            if (one.held.size != 0) --one.held.size;
            break;
        case operation::put_all:
            one.held = {};
            break;
        case operation::pop:
        case operation::take_all:
            for (const std::uint8_t first : got) one.held.push_back(first);
        }
        one.log = {};
        ++one.position;
    }

    void fail(std::string_view why) {
        result.fault = why;
        for (const auto& script : scripts_) result.fault += " | " + script;
        result.fault += " | schedule " + schedule_;
    }

    machine machine_;
    std::vector<std::string> scripts_;
    std::optional<list> list_;
    std::optional<std::array<typename list::link, slots>> next_;
    std::optional<std::array<typename list::magazine_link, slots>> next_magazine_;
    std::unordered_set<std::string> visited_;
    std::string schedule_;
    bool bad_content_ = false;
};

template <unsigned TagBits = 40>
report explore(std::vector<std::string> scripts, std::size_t magazines) {
    return explorer<TagBits>{std::move(scripts), magazines}.result;
}

} // namespace fastserve::pool::interleaving
