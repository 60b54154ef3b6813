-- Let go of one kept assessment of a tenant.
local order, cards, bodies = unpack(KEYS)
redis.call('HDEL', cards, ARGV[1])
redis.call('HDEL', bodies, ARGV[1])
return redis.call('ZREM', order, ARGV[1])
