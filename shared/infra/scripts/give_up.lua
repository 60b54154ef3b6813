-- Drop a key, if it still holds the caller's value: a lock, or with a field a hash.
local key = KEYS[1]
local value, field = unpack(ARGV)
local held = field and redis.call('HGET', key, field) or not field and redis.call('GET', key)
return held == value and redis.call('DEL', key) or 0
