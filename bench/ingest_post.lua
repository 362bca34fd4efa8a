-- wrk script: posts the signed webhooks of the file named by BENCH_REQUESTS, in turn, to the path given as argument.
local requests, next_one = {}, 0

function init(args)
  for line in io.lines(os.getenv("BENCH_REQUESTS")) do
    local id, timestamp, signature, body = line:match("([^\t]*)\t([^\t]*)\t([^\t]*)\t(.*)")
    requests[#requests + 1] = wrk.format("POST", args[1], {
      ["Content-Type"] = "application/json",
      ["svix-id"] = id, ["svix-timestamp"] = timestamp, ["svix-signature"] = signature,
    }, body)
  end
end

function request()
  next_one = next_one % #requests + 1
  return requests[next_one]
end

-- One line for bench.ingest to read: requests, seconds, 99th percentile in ms, answers that were not 2xx, broken connections.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("bench %d %.3f %.2f %d %d\n", summary.requests, summary.duration / 1e6,
    latency:percentile(99) / 1000, errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
