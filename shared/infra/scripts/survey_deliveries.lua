-- What is due in one partition, with since when, the oldest first; before it, in how many milliseconds the next will
-- be (-1: nothing waits). Reads only.
local deliveries = unpack(KEYS)
local most = unpack(ARGV)

local now = int(now_ms())
local reply = redis.call('ZRANGEBYSCORE', deliveries, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most)
local later = redis.call('ZRANGEBYSCORE', deliveries, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
table.insert(reply, 1, later[2] and int(later[2] - now) or '-1')
return reply
