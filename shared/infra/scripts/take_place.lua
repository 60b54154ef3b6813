-- Take a place in a line, behind all who have one, for a while; replies with how many stand ahead, and with the time (ms).
-- Once more, it is the same place.
local line = unpack(KEYS)
local name, lease_ms = unpack(ARGV)

local now = now_us()
redis.call('ZREMRANGEBYSCORE', line, '-inf', int(now))
local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2] or 0
redis.call('ZADD', line, 'NX', int(math.max(now + 1000 * lease_ms, last + 1)), name)
redis.call('PEXPIRE', line, int(2 * lease_ms))
return {redis.call('ZRANK', line, name), int(now_ms())}
