-- The heartbeat: it never shortens a lease that was stretched over a call.
local lease, leased = unpack(KEYS)
local owner, fence, lease_ms, member = unpack(ARGV)

if not holds(lease, owner, fence) then return {'lost'} end
local ends = math.max(now_ms() + lease_ms, tonumber(redis.call('HGET', lease, 'until')))
redis.call('HSET', lease, 'until', int(ends))
redis.call('ZADD', leased, int(ends), member)
return {'ok'}
