-- Count what calls did cost in a tenant's day, and set the cost of the next one aside (I11), if there is a next one
-- (``name``) and it fits under the day's caps with all that is spent and set aside; 0 if it does not.
-- What a call did cost takes the place of what was set aside for it. With a reservation it counts once, however often it
-- is told; without one it is not counted again when a reply was lost.
local spend = unpack(KEYS)
local kept, most_tokens, most_nanos, name, tokens, nanos = unpack(ARGV, 1, 6)

local FIELDS = {'tokens', 'nanos', 'calls', 'reserved_tokens', 'reserved_nanos'}
local sums, before = {}, {}
for i, known in ipairs(redis.call('HMGET', spend, unpack(FIELDS))) do
  before[i] = tonumber(known or '0')
  sums[FIELDS[i]] = before[i]
end
local function add(field, amount) sums[field] = sums[field] + tonumber(amount) end

local over = {}
local function settle(call, more_tokens, more_nanos, reserved)
  local aside = not over[call] and redis.call('HGET', spend, call)
  if not aside and (reserved == '1' or again) then return end
  if aside then
    local set_aside = {string.match(aside, '^(%d+) (%d+)$')}
    over[call] = true
    add('reserved_tokens', 0 - set_aside[1])
    add('reserved_nanos', 0 - set_aside[2])
  end
  add('tokens', more_tokens)
  add('nanos', more_nanos)
  add('calls', 1)
end
for i = 7, #ARGV, 4 do settle('r:' .. ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end

local fits, aside = 1, name ~= '' and 'r:' .. name
if aside and (over[aside] or redis.call('HEXISTS', spend, aside) == 0) then
  local function has_room(spent, more, most) return tonumber(most) < 0 or spent + tonumber(more) <= tonumber(most) end
  if has_room(sums.tokens + sums.reserved_tokens, tokens, most_tokens)
    and has_room(sums.nanos + sums.reserved_nanos, nanos, most_nanos) then
    add('reserved_tokens', tokens)
    add('reserved_nanos', nanos)
  else
    fits, aside = 0, false
  end
else
  aside = false
end

-- All that changes is written at once: a command in the log costs more than what it says.
local row = {}
for i, field in ipairs(FIELDS) do
  if sums[field] ~= before[i] then row[#row + 1], row[#row + 2] = field, int(sums[field]) end
end
if aside then row[#row + 1], row[#row + 2] = aside, tokens .. ' ' .. nanos end
for call in pairs(over) do
  if call ~= aside then redis.call('HDEL', spend, call) end
end
if #row > 0 then redis.call('HSET', spend, unpack(row)) end
if redis.call('TTL', spend) < 0 then redis.call('EXPIRE', spend, kept) end
return fits
