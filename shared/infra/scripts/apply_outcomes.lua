-- Learn from outcomes of one tenant, each once: id, arm, case, counts and how they came to be, all of them in one step.
-- Replies with 1 for each that was new and 0 for each that was known.
local applied, arms, cases, counts, trends, days = unpack(KEYS)
local known_ms, cap, points, newest, oldest, arms_named = unpack(ARGV)
local ARMS, OF_ARM = 7, 3
local rows = ARGV[ARMS + OF_ARM * arms_named]
local QUALITY = 'quality' -- the trend of all cases together

local ids, events, from = {}, {}, 1
while from <= #rows do -- two lines for each event
  local line_end = string.find(rows, '\n', from, true)
  local entry_end = string.find(rows, '\n', line_end + 1, true)
  local line, entry = string.sub(rows, from, line_end - 1), string.sub(rows, line_end + 1, entry_end - 1)
  local arm, units, outcome, at, day, id = string.match(line, '^(%d+) (%d+) (%l+) (%d+) (%S+) (.+)$')
  ids[#ids + 1] = id
  events[#events + 1] = {arm, tonumber(units), outcome, at, day, entry}
  from = entry_end + 1
end
local known = redis.call('ZMSCORE', applied, unpack(ids))

local now = int(now_ms())
local reply, marks, entries, steps = {}, {}, {}, {}
local pulled, counted, by_day = {}, {}, {}
local function add(sums, field, amount) sums[field] = (sums[field] or 0) + amount end
for n, id in ipairs(ids) do
  reply[n] = 0
  if not known[n] and not marks[id] then
    local arm, units, outcome, at, day, entry = unpack(events[n])
    reply[n], marks[id] = 1, true
    local of_day = by_day[day] or {}
    by_day[day] = of_day
    if entry ~= '' then -- without an entry it is counted as an event, and that is all
      entries[#entries + 1] = entry
      steps[#steps + 1] = {QUALITY, at, units}
      add(counted, outcome, 1)
      add(of_day, outcome, 1)
      add(counted, 'quality_units', units)
      add(of_day, 'quality_units', units)
    end
    if arm ~= '0' then
      local of_arm = ARMS + OF_ARM * (arm - 1)
      add(pulled, ARGV[of_arm], 1)
      add(pulled, ARGV[of_arm + 1], units)
      steps[#steps + 1] = {ARGV[of_arm + 2], at, units}
    end
    add(counted, 'events', 1)
    add(of_day, 'events', 1)
  end
end
if not next(marks) then return reply end
local sums = {[arms] = pulled, [counts] = counted, [days] = {}}
for day, of_day in pairs(by_day) do
  for count, amount in pairs(of_day) do sums[days][day .. ':' .. count] = amount end
end

-- A script that fails is not undone, so whatever could fail is asked before anything is written.
redis.call('LLEN', cases)
redis.call('HLEN', trends)
local before, spoiled = {}, redis.error_reply('a count is not an integer')
local function had(hash, field) return before[hash][field] end
for hash, amounts in pairs(sums) do
  local fields = {}
  for field in pairs(amounts) do fields[#fields + 1] = field end
  if hash == counts then fields[#fields + 1], fields[#fields + 2], fields[#fields + 3] = 'success', 'partial', 'failure' end
  local numbers = #fields > 0 and redis.call('HMGET', hash, unpack(fields)) or {redis.call('HLEN', hash)}
  before[hash] = {}
  for n, field in ipairs(fields) do
    local number = numbers[n] or '0'
    if not string.match(number, '^%d+$') or #number > 15 then return spoiled end -- a longer one would not stay exact
    before[hash][field] = tonumber(number)
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
    return had(counts, 'success') + had(counts, 'partial') + had(counts, 'failure'), had(counts, 'quality_units')
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
    line = {n = n, units = sum, spacing = spacing(n), wide = spacing(n), new = {}}
    lines[trend] = line
  end
  line.n, line.units = line.n + 1, line.units + units
  if line.n > points * line.wide then line.wide = 2 * line.wide end
  if line.n % line.wide == 0 then
    line.new[#line.new + 1] = int(line.n) .. ':' .. int(line.units) .. ':' .. at
  end
end
local function drawn(trend, line)
  local kept = redis.call('HGET', trends, trend)
  local text = (kept and kept .. ' ' or '') .. table.concat(line.new, ' ')
  if line.wide == line.spacing then return text end
  local thinned = {}
  for n, rest in string.gmatch(text, '(%d+):(%S+)') do
    if n % line.wide == 0 then thinned[#thinned + 1] = n .. ':' .. rest end
  end
  return table.concat(thinned, ' ')
end

local scored = {}
for id in pairs(marks) do
  scored[#scored + 1] = now
  scored[#scored + 1] = id
end
redis.call('ZADD', applied, unpack(scored))
redis.call('ZREMRANGEBYSCORE', applied, '-inf', int(now - known_ms))
if redis.call('HEXISTS', days, newest .. ':events') == 0 then
  for _, field in ipairs(redis.call('HKEYS', days)) do
    if field < oldest then redis.call('HDEL', days, field) end
  end
end
for hash, amounts in pairs(sums) do
  local counted = {}
  for field, amount in pairs(amounts) do
    counted[#counted + 1] = field
    counted[#counted + 1] = int(had(hash, field) + amount)
  end
  if #counted > 0 then redis.call('HSET', hash, unpack(counted)) end
end
if #entries > 0 then
  redis.call('LPUSH', cases, unpack(entries))
  redis.call('LTRIM', cases, 0, cap - 1)
end
local redrawn = {}
for trend, line in pairs(lines) do
  if #line.new > 0 or line.wide > line.spacing then
    redrawn[#redrawn + 1] = trend
    redrawn[#redrawn + 1] = drawn(trend, line)
  end
end
if #redrawn > 0 then redis.call('HSET', trends, unpack(redrawn)) end
return reply
