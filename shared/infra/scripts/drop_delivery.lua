-- Take a webhook or notice out. Repeat it freely.
local hash, deliveries = unpack(KEYS)
local member = unpack(ARGV)

redis.call('ZREM', deliveries, member)
return redis.call('HDEL', hash, member)
