-- Keep a notice until it is delivered. One that is kept already stays as it is.
local posts, deliveries = unpack(KEYS)
local member, told, sealed = unpack(ARGV)

if redis.call('HSETNX', posts, member, 'on\n0\n' .. told .. '\n' .. sealed) == 0 then return 0 end
redis.call('ZADD', deliveries, int(now_ms()), member)
redis.call('PUBLISH', 'pa:deliveries', deliveries)
return 1
