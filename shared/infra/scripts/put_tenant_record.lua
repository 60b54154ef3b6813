-- Let a version of a tenant's record follow the one before it, and forget the oldest. Returns the number of the latest
-- version: the given one if it was taken in, and less than nothing if that number was another's already.
local record = KEYS[1]
local number, version, kept = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])

local latest = tonumber(redis.call('HGET', record, 'latest') or '0')
if latest == number and redis.call('HGET', record, int(number)) == version then return number end
if latest ~= number - 1 then return latest == number and -latest or latest end
redis.call('HSET', record, 'latest', int(number), int(number), version)
redis.call('HDEL', record, int(number - kept))
return number
