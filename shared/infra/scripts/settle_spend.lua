-- Count what a call did cost, in place of what was set aside for it. With a reservation it counts once, however often
-- it is told; without one it is not counted again when a reply was lost.
local spend = unpack(KEYS)
local name, tokens, nanos, reserved, kept = unpack(ARGV)

local call = 'r:' .. name
local aside = redis.call('HGET', spend, call)
if not aside and (reserved == '1' or again) then return 0 end
if aside then
  local set_aside = {string.match(aside, '^(%d+) (%d+)$')}
  redis.call('HDEL', spend, call)
  redis.call('HINCRBY', spend, 'reserved_tokens', int(0 - set_aside[1]))
  redis.call('HINCRBY', spend, 'reserved_nanos', int(0 - set_aside[2]))
end
redis.call('HINCRBY', spend, 'tokens', tokens)
redis.call('HINCRBY', spend, 'nanos', nanos)
redis.call('HINCRBY', spend, 'calls', 1)
redis.call('EXPIRE', spend, kept)
return 1
