-- Take the session's lease if it is free or over and something waits there; the fence grows with every owner.
local lease, inbox, signals, waiting, leased = unpack(KEYS)
local owner, lease_ms, member = unpack(ARGV)

local now = now_ms()
local ends = redis.call('HGET', lease, 'until')
if ends and tonumber(ends) > now then return false end
if redis.call('LLEN', inbox) + redis.call('LLEN', signals) == 0 then
  redis.call('HDEL', lease, 'owner', 'until')
  redis.call('ZREM', waiting, member)
  redis.call('ZREM', leased, member)
  return false
end
local fence = redis.call('HINCRBY', lease, 'fence', 1)
redis.call('HSET', lease, 'owner', owner, 'until', int(now + lease_ms))
redis.call('ZREM', waiting, member)
redis.call('ZADD', leased, int(now + lease_ms), member)
return fence
