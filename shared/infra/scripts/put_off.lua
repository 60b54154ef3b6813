-- Let the reaper leave a waiting session alone for a while: somebody else will wake it.
local waiting = unpack(KEYS)
local member, delay_ms = unpack(ARGV)

return redis.call('ZADD', waiting, 'XX', looked_at_in(delay_ms), member)
