-- Let go of a key that still holds the caller's value, at once or after some seconds: a lock, a name, or with a field a
-- hash. What has become another's stays.
local key = KEYS[1]
local value, seconds, field = unpack(ARGV)
local stored = field and redis.call('HGET', key, field) or not field and redis.call('GET', key)
return stored == value and redis.call('EXPIRE', key, seconds) or 0
