-- Count what calls did cost in a tenant's day, and set the cost of the next one aside (I11), if there is a next one
-- (``name``) and it fits under the day's caps with all that is spent and set aside; 0 if it does not.
-- What a call did cost takes the place of what was set aside for it. With a reservation it counts once, however often it
-- is told; without one it is not counted again when a reply was lost.
local spend = unpack(KEYS)
local kept, most_tokens, most_nanos, name, tokens, nanos = unpack(ARGV, 1, 6)

local function settle(call, more_tokens, more_nanos, reserved)
  local aside = redis.call('HGET', spend, call)
  if not aside and (reserved == '1' or again) then return end
  if aside then
    local set_aside = {string.match(aside, '^(%d+) (%d+)$')}
    redis.call('HDEL', spend, call)
    redis.call('HINCRBY', spend, 'reserved_tokens', int(0 - set_aside[1]))
    redis.call('HINCRBY', spend, 'reserved_nanos', int(0 - set_aside[2]))
  end
  redis.call('HINCRBY', spend, 'tokens', more_tokens)
  redis.call('HINCRBY', spend, 'nanos', more_nanos)
  redis.call('HINCRBY', spend, 'calls', 1)
end

for i = 7, #ARGV, 4 do settle('r:' .. ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end
redis.call('EXPIRE', spend, kept)
if name == '' or redis.call('HEXISTS', spend, 'r:' .. name) == 1 then return 1 end

local known = redis.call('HMGET', spend, 'tokens', 'reserved_tokens', 'nanos', 'reserved_nanos')
local function fits(spent, aside, more, most)
  return tonumber(most) < 0 or (tonumber(spent or 0) + tonumber(aside or 0) + tonumber(more)) <= tonumber(most)
end
if not fits(known[1], known[2], tokens, most_tokens) then return 0 end
if not fits(known[3], known[4], nanos, most_nanos) then return 0 end
redis.call('HSET', spend, 'r:' .. name, tokens .. ' ' .. nanos)
redis.call('HINCRBY', spend, 'reserved_tokens', tokens)
redis.call('HINCRBY', spend, 'reserved_nanos', nanos)
redis.call('EXPIRE', spend, kept)
return 1
