-- Show a sign of life among the learners; who lives. Those silent for longer than a lease are struck off.
local learners = unpack(KEYS)
local owner, lease_ms = unpack(ARGV)

local now = now_ms()
redis.call('ZADD', learners, int(now), owner)
redis.call('ZREMRANGEBYSCORE', learners, '-inf', int(now - lease_ms))
redis.call('PEXPIRE', learners, 10 * lease_ms)
return redis.call('ZRANGE', learners, 0, -1)
