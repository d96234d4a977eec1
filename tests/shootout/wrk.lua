-- What wrk does not do by itself.
--
--     wrk ... -s wrk.lua URL                   prints a line "shootout {JSON}" with what its own report leaves out
--     wrk ... -s wrk.lua URL -- pipeline N     N requests are sent at once, then N answers awaited
--     wrk ... -s wrk.lua URL -- every N        each Nth request of a thread asks the server to close, so that a
--                                              connection serves N requests on the average
local modes = {}

function modes.pipeline(depth)
    local batch = string.rep(wrk.format(), depth)
    return function()
        return batch
    end
end

function modes.every(n)
    local stay = wrk.format()
    wrk.headers["Connection"] = "close"
    local leave, count = wrk.format(), 0
    return function()
        count = count + 1
        return count % n == 0 and leave or stay
    end
end

-- Without a mode there is no function request, and wrk sends the same bytes without asking.
function init(args)
    if args[1] then
        request = modes[args[1]](tonumber(args[2]))
    end
end

function done(summary, latency, requests)
    io.write(string.format(
        'shootout {"p50_us": %d, "p99_us": %d, "p999_us": %d, "max_us": %d, "mean_us": %.3f, "stdev_us": %.3f, ' ..
        '"requests": %d, "duration_us": %d, "bytes": %d}\n',
        latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max, latency.mean,
        latency.stdev, summary.requests, summary.duration, summary.bytes))
end
