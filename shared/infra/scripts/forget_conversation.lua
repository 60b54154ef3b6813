-- Forget what a session remembers of its own turns, unless it has work: then its next turn would bring it back.
local session, open, lease, idle = unpack(KEYS)
local member = unpack(ARGV)

if redis.call('SCARD', open) > 0 or redis.call('HEXISTS', lease, 'owner') == 1 then return -1 end
redis.call('ZREM', idle, member)
redis.call('HDEL', session, 'evicted')
return redis.call('HDEL', session, 'state')
