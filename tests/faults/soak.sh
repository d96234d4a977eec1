# Sourced by the soaks of tests/soak that run a test of this folder at its full size.

# soak BINARY FILTER AMOUNT [SEED]: runs those of its tests with FASTSERVE_SOAK_AMOUNT, adds up the lines
# "...: tried N wrong M seed S" that they print, and ends with that sum. Exits 1 unless nothing was wrong.
soak() {
    local status=0
    log=$(mktemp) # not local: it is deleted when the script has ended
    trap 'rm -f "$log"' EXIT
    export FASTSERVE_SOAK_AMOUNT=$3 FASTSERVE_SOAK_SEED=${4:-$((RANDOM * 32768 + RANDOM))}
    "$1" --gtest_filter="$2" 2>&1 | tee "$log" || status=1
    awk -v seed="$FASTSERVE_SOAK_SEED" -v status="$status" '
        match($0, /: tried [0-9]+ wrong [0-9]+ seed/) { split(substr($0, RSTART), w, " "); tried += w[3]; wrong += w[5] }
        END { if (status && !wrong) wrong = 1; printf "tried %d wrong %d seed %s\n", tried, wrong, seed; exit wrong || !tried }
    ' "$log"
}
