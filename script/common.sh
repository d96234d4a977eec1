# What the scripts share; sourced by them, after `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s: %s\n' "${0##*/}" "$1" >&2; }

# How many compilers may run at once: one a CPU, but no more than memory allows at 1.5 GB each.
jobs() {
    local cpus least_kb key value bytes
    cpus=$(nproc)
    least_kb=$((cpus * 1500000))
    while read -r key value _; do
        [ "$key" = MemAvailable: ] && [ "$value" -lt "$least_kb" ] && least_kb=$value
    done </proc/meminfo
    if { read -r bytes </sys/fs/cgroup/memory.max; } 2>/dev/null && [ "$bytes" != max ]; then
        [ $((bytes / 1024)) -ge "$least_kb" ] || least_kb=$((bytes / 1024))
    fi
    local count=$((least_kb / 1500000))
    printf '%s\n' $((count > 0 ? count : 1))
}

# build PRESET [TARGET...]: brings build/PRESET up to date. Prints nothing when it is, a line when it is not, and the
# compiler's words when they matter. In CI warnings are errors. Two builds of one preset wait for each other.
build() {
    local preset=$1
    shift
    mkdir -p "$root/build"
    (
        flock 9
        cd "$root"
        build_locked "$preset" "$@"
    ) 9>"$root/build/$preset.lock"
}

build_locked() {
    local preset=$1 dir=build/$1 werror=OFF key
    shift
    [ "${CI:-}" != true ] || werror=ON
    # The build system notices by itself when a CMakeLists.txt changes, but not when the presets do.
    key="werror=$werror $(cksum <CMakePresets.json)"
    if [ ! -f "$dir/build.ninja" ] || [ "$(cat "$dir/configured" 2>/dev/null)" != "$key" ]; then
        rm -f "$dir/configured"
        if ! cmake --preset "$preset" -DFASTSERVE_WERROR=$werror >"build/$preset.log" 2>&1 9>&-; then
            cat "build/$preset.log" >&2
            say "cmake --preset $preset failed"
            return 1
        fi
        printf '%s\n' "$key" >"$dir/configured"
    fi
    # Generating again, where a CMakeLists.txt changed, is nobody's news unless it fails.
    if ! ninja -C "$dir" build.ninja >"build/$preset.log" 2>&1 9>&-; then
        cat "build/$preset.log" >&2
        say "configuring $dir failed"
        return 1
    fi
    if ninja -C "$dir" -n "$@" 2>/dev/null | grep -q 'no work to do'; then return 0; fi
    local j quiet=(--quiet)
    j=$(jobs)
    say "building $dir (-j$j)"
    [ ! -t 2 ] || quiet=() # on a terminal ninja keeps its progress on one line
    if ! ninja -C "$dir" -j"$j" "${quiet[@]}" "$@" >&2 9>&-; then
        say "building $dir failed"
        return 1
    fi
}
