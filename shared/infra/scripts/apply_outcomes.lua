-- Learn from outcomes of one tenant, each once: id, arm, case, counts and how they came to be, all of them in one step.
-- Replies with 1 for each that was new and 0 for each that was known.
local applied, arms, cases, counts, trends, days = unpack(KEYS)
local known_ms, cap, points, newest, oldest = unpack(ARGV)
local FIRST, EACH = 6, 9
local QUALITY = 'quality' -- the trend of all cases together

local ids = {}
for i = FIRST, #ARGV, EACH do ids[#ids + 1] = ARGV[i] end
local known = redis.call('ZMSCORE', applied, unpack(ids))

local now = int(now_ms())
local reply, marks, entries, steps = {}, {}, {}, {}
local sums = {[arms] = {}, [counts] = {}, [days] = {}}
local function add(hash, field, amount) sums[hash][field] = (sums[hash][field] or 0) + amount end
local function step(trend, at, units) steps[#steps + 1] = {trend, at, units} end
for n, id in ipairs(ids) do
  reply[n] = 0
  if not known[n] and not marks[id] then
    local first = FIRST + EACH * (n - 1)
    local pulls, sum, trend, units, entry, outcome, at, day = unpack(ARGV, first + 1, first + EACH - 1)
    reply[n], marks[id] = 1, true
    if entry ~= '' then -- without an entry it is counted as an event, and that is all
      entries[#entries + 1] = entry
      step(QUALITY, at, tonumber(units))
      for hash, stem in pairs({[counts] = '', [days] = day .. ':'}) do
        add(hash, stem .. outcome, 1)
        add(hash, stem .. 'quality_units', tonumber(units))
      end
    end
    if pulls ~= '' then
      add(arms, pulls, 1)
      add(arms, sum, tonumber(units))
      step(trend, at, tonumber(units))
    end
    add(counts, 'events', 1)
    add(days, day .. ':events', 1)
  end
end
if not next(marks) then return reply end

-- A script that fails is not undone, so whatever could fail is asked before anything is written.
redis.call('LLEN', cases)
redis.call('HLEN', trends)
local before, spoiled = {}, redis.error_reply('a count is not an integer')
local function had(hash, field)
  local name = hash .. '/' .. field
  if not before[name] then
    local number = redis.call('HGET', hash, field) or '0'
    if not string.match(number, '^%d+$') then return nil end
    before[name] = tonumber(number)
  end
  return before[name]
end
for hash, amounts in pairs(sums) do
  redis.call('HLEN', hash)
  for field in pairs(amounts) do
    if not had(hash, field) then return spoiled end
  end
end

-- A trend has a point at each multiple of its spacing, which doubles whenever there would be too many.
local function spacing(n)
  local found = 1
  while n > found * points do found = found * 2 end
  return found
end
local function start(trend)
  if trend == QUALITY then
    local success, partial, failure = had(counts, 'success'), had(counts, 'partial'), had(counts, 'failure')
    return success and partial and failure and success + partial + failure, had(counts, 'quality_units')
  end
  local stem = string.sub(trend, #'arm:' + 1)
  return had(arms, stem .. ':n'), had(arms, stem .. ':units')
end
local lines = {}
for _, taken in ipairs(steps) do
  local trend, at, units = unpack(taken)
  local line = lines[trend]
  if not line then
    local n, sum = start(trend)
    if not n or not sum then return spoiled end
    line = {n = n, units = sum, spacing = spacing(n), new = {}}
    lines[trend] = line
  end
  line.n, line.units = line.n + 1, line.units + units
  if line.n % spacing(line.n) == 0 then
    line.new[#line.new + 1] = int(line.n) .. ':' .. int(line.units) .. ':' .. at
  end
end
local function drawn(trend, line)
  local kept = redis.call('HGET', trends, trend)
  local text = (kept and kept .. ' ' or '') .. table.concat(line.new, ' ')
  local wide = spacing(line.n)
  if wide == line.spacing then return text end
  local thinned = {}
  for n, rest in string.gmatch(text, '(%d+):(%S+)') do
    if tonumber(n) % wide == 0 then thinned[#thinned + 1] = n .. ':' .. rest end
  end
  return table.concat(thinned, ' ')
end

for id in pairs(marks) do redis.call('ZADD', applied, now, id) end
redis.call('ZREMRANGEBYSCORE', applied, '-inf', int(now - known_ms))
if redis.call('HEXISTS', days, newest .. ':events') == 0 then
  for _, field in ipairs(redis.call('HKEYS', days)) do
    if field < oldest then redis.call('HDEL', days, field) end
  end
end
for hash, amounts in pairs(sums) do
  for field, amount in pairs(amounts) do redis.call('HINCRBY', hash, field, int(amount)) end
end
if #entries > 0 then
  redis.call('LPUSH', cases, unpack(entries))
  redis.call('LTRIM', cases, 0, cap - 1)
end
for trend, line in pairs(lines) do
  if #line.new > 0 or spacing(line.n) > line.spacing then redis.call('HSET', trends, trend, drawn(trend, line)) end
end
return reply
