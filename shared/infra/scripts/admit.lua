-- Find an API key, and take what a request costs from each of its caller's limits, or nothing from any.
-- A request whose reply was lost and that is repeated costs nothing more.
-- A server without memory refuses writes: a request then goes on uncounted, so that reads go on; a message is refused.
local requests, messages, daily, key = unpack(KEYS)
local wants_request, wants_message, digest, note_after = ARGV[1] == '1', ARGV[2] == '1', ARGV[6], tonumber(ARGV[7])
local allowed = {tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])}
local minute, day = 60000000, 86400
local now = now_us()
local now_s = math.floor(now / 1000000)
local json, revoked, used = '', '', ''

local function write_if_room(...)
  local said = redis.pcall(...)
  if type(said) == 'table' and said.err and not string.find(said.err, 'OOM', 1, true) then redis.call(...) end
end

if key then
  local row = redis.call('HMGET', key, 'json', 'revoked_at', 'limits', 'used_at')
  json, revoked, used = row[1] or '', row[2] or '', row[4] or ''
  if json == '' or revoked ~= '' or not string.find(json, digest, 1, true) then return {json, revoked, used} end
  local own = {string.match(row[3] or '', '^(%d*):(%d*):(%d*)$')}
  for i, number in ipairs(own) do allowed[i] = tonumber(number) or allowed[i] end
  if used == '' or now_s - tonumber(used) >= note_after then
    used = int(now_s)
    write_if_room('HSET', key, 'used_at', used)
  end
end

-- A minute's allowance flows back evenly; what is kept is when all of it will be back.
local function flow(name, quota)
  local whole_at = math.max(tonumber(redis.call('GET', name) or '0'), now)
  local step = minute / quota
  local left = math.floor(quota * (minute - (whole_at - now)) / minute)
  return {quota = quota, whole_at = whole_at, step = step, left = left, wait = whole_at + step - minute - now}
end

local function take(name, one, write)
  one.whole_at, one.left = math.floor(one.whole_at + one.step), one.left - 1
  write('SET', name, int(one.whole_at), 'PX', int(math.ceil((one.whole_at - now) / 1000) + 1))
end

local count, today = 0, int(math.floor(now_s / day))
local kept_day, kept_count = string.match(redis.call('GET', daily) or '', '^(%d+):(%d+)$')
if kept_day == today then count = tonumber(kept_count) end

local first = allowed[1] > 0 and flow(requests, allowed[1])
local second = allowed[2] > 0 and flow(messages, allowed[2])
local third = allowed[3] > 0 and {quota = allowed[3], left = allowed[3] - count, wait = (day - now_s % day) * 1000000}
local used_up, wait = '', 0
local function check(name, wanted, one)
  if wanted and one and one.left < 1 and one.wait > wait then used_up, wait = name, one.wait end
end
check('requests', wants_request, first)
check('messages', wants_message, second)
check('daily', wants_message, third)

if used_up == '' and not again then
  -- What flows back within a minute is not worth a place in the log of writes: a server that restarts begins afresh.
  pcall(redis.set_repl, redis.REPL_NONE)
  if wants_request and first then take(requests, first, write_if_room) end
  if wants_message and second then take(messages, second, redis.call) end
  pcall(redis.set_repl, redis.REPL_ALL)
  if wants_message and third then
    third.left = third.left - 1
    redis.call('SET', daily, today .. ':' .. int(count + 1), 'EX', 2 * day)
  end
end

local reply = {json, revoked, used, used_up, int(math.ceil(wait))}
for _, one in ipairs({first or {}, second or {}}) do
  reply[#reply + 1] = int(one.quota or 0)
  reply[#reply + 1] = int(math.max(one.left or 0, 0))
  reply[#reply + 1] = int((one.whole_at or now) - now)
end
reply[#reply + 1] = int(third and third.quota or 0)
reply[#reply + 1] = int(third and math.max(third.left, 0) or 0)
reply[#reply + 1] = int(third and third.wait or 0)
return reply
