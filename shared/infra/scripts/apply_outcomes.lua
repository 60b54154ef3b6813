-- Learn from outcomes of one tenant, each once: id, arm, case and counts of all of them in one step.
-- Replies with 1 for each that was new and 0 for each that was known.
local applied, arms, cases, counts = unpack(KEYS)
local known_ms, cap = unpack(ARGV)

local ids = {}
for i = 3, #ARGV, 6 do ids[#ids + 1] = ARGV[i] end
local known = redis.call('ZMSCORE', applied, unpack(ids))

local now = int(now_ms())
local reply, marks, entries, pulled, counted = {}, {}, {}, {}, {}
local function add(sums, field, amount) sums[field] = (sums[field] or 0) + amount end
for n, id in ipairs(ids) do
  reply[n] = 0
  if not known[n] and not marks[id] then
    local pulls, sum, units, entry, outcome = unpack(ARGV, 4 + 6 * (n - 1), 8 + 6 * (n - 1))
    reply[n], marks[id] = 1, true
    if entry ~= '' then -- without an entry it is counted as an event, and that is all
      entries[#entries + 1] = entry
      add(counted, outcome, 1)
      add(counted, 'quality_units', tonumber(units))
    end
    if pulls ~= '' then
      add(pulled, pulls, 1)
      add(pulled, sum, tonumber(units))
    end
    add(counted, 'events', 1)
  end
end
if not next(marks) then return reply end

-- A script that fails is not undone, so whatever could fail is asked before anything is written.
redis.call('LLEN', cases)
for hash, sums in pairs({[arms] = pulled, [counts] = counted}) do
  redis.call('HLEN', hash)
  for field in pairs(sums) do
    local number = redis.call('HGET', hash, field)
    if number and not string.match(number, '^%d+$') then return redis.error_reply('a count is not an integer') end
  end
end

for id in pairs(marks) do redis.call('ZADD', applied, now, id) end
redis.call('ZREMRANGEBYSCORE', applied, '-inf', int(now - known_ms))
for hash, sums in pairs({[arms] = pulled, [counts] = counted}) do
  for field, amount in pairs(sums) do redis.call('HINCRBY', hash, field, int(amount)) end
end
if #entries > 0 then
  redis.call('LPUSH', cases, unpack(entries))
  redis.call('LTRIM', cases, 0, cap - 1)
end
return reply
